# install: the libraries, their public headers, a package for
# find_package(ruy_like) and a file for pkg-config for each library.
# RUY_LIKE_INSTALL_OPTIONS are options of each install command.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ruy_like)

install(TARGETS ruy_like EXPORT ruy_like-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${RUY_LIKE_INSTALL_OPTIONS}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${RUY_LIKE_INSTALL_OPTIONS}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} ${RUY_LIKE_INSTALL_OPTIONS}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    ${RUY_LIKE_INSTALL_OPTIONS})
install(FILES ruy_like/registry/paths.inc  # a part of path.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ruy_like/registry
  ${RUY_LIKE_INSTALL_OPTIONS})

install(EXPORT ruy_like-targets NAMESPACE ruy_like::
  DESTINATION ${config_dir} ${RUY_LIKE_INSTALL_OPTIONS})
configure_package_config_file(cmake/ruy_like-config.cmake.in
  ${PROJECT_BINARY_DIR}/ruy_like-config.cmake
  INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/ruy_like-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/ruy_like-config.cmake
  ${PROJECT_BINARY_DIR}/ruy_like-config-version.cmake
  cmake/Findcpuinfo.cmake
  DESTINATION ${config_dir} ${RUY_LIKE_INSTALL_OPTIONS})

install(FILES LICENSE README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} ${RUY_LIKE_INSTALL_OPTIONS})
# Next to README.md as in the sources, so that its links lead somewhere.
install(DIRECTORY doc DESTINATION ${CMAKE_INSTALL_DOCDIR}
  ${RUY_LIKE_INSTALL_OPTIONS} FILES_MATCHING PATTERN "*.md" PATTERN "*.png")

# Targets of their own, so that who has no Highway can use the rest: the package
# loads them if it can, and must if the component "quantize" is asked for.
if(TARGET ruy_like_quantize)
  install(TARGETS ruy_like_quantize EXPORT ruy_like-quantize-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${RUY_LIKE_INSTALL_OPTIONS}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${RUY_LIKE_INSTALL_OPTIONS}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} ${RUY_LIKE_INSTALL_OPTIONS}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
      ${RUY_LIKE_INSTALL_OPTIONS})
  install(EXPORT ruy_like-quantize-targets NAMESPACE ruy_like::
    DESTINATION ${config_dir} ${RUY_LIKE_INSTALL_OPTIONS})
endif()

# The C interface, whose users need no C++.
if(TARGET ruy_like_c)
  install(TARGETS ruy_like_c EXPORT ruy_like-c-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${RUY_LIKE_INSTALL_OPTIONS}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
      ${RUY_LIKE_INSTALL_OPTIONS})
  install(EXPORT ruy_like-c-targets NAMESPACE ruy_like::
    DESTINATION ${config_dir} ${RUY_LIKE_INSTALL_OPTIONS})
endif()

# Relative to the file itself, so that the tree can be installed or moved
# somewhere else than it was configured for.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}"
   OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(RUY_LIKE_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(RUY_LIKE_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(RUY_LIKE_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
    ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" up "${up}")
  set(RUY_LIKE_PC_PREFIX "\${pcfiledir}/${up}")
  set(RUY_LIKE_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(RUY_LIKE_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# ruy_like_install_pc(<library> DESCRIPTION <text> REQUIRES <packages>
#                     PRIVATE <packages> [LIBS <flags>])
#
# PRIVATE are what a static library alone asks for: they must be on the command
# line, also without pkg-config's --static. Users of a shared one need not have
# them, and not as Requires.private either, whose flags --cflags wants to know.
function(ruy_like_install_pc library)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION" "REQUIRES;PRIVATE;LIBS")
  set(RUY_LIKE_PC_NAME ${library})
  set(RUY_LIKE_PC_DESCRIPTION "${arg_DESCRIPTION}")
  set(RUY_LIKE_PC_LIBS "-L\${libdir} -l${library}")
  if(NOT RUY_LIKE_BUILD_SHARED)
    list(APPEND arg_REQUIRES ${arg_PRIVATE})
    string(APPEND RUY_LIKE_PC_LIBS " ${arg_LIBS}")
  endif()
  list(JOIN arg_REQUIRES ", " RUY_LIKE_PC_REQUIRES)
  configure_file(cmake/ruy_like.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${RUY_LIKE_INSTALL_OPTIONS})
endfunction()

set(ruy_like_pc_cpuinfo "")
if(RUY_LIKE_USE_CPUINFO)
  set(ruy_like_pc_cpuinfo libcpuinfo)
endif()
ruy_like_install_pc(ruy_like
  DESCRIPTION "Matrix multiplication for neural-network inference"
  REQUIRES absl_status absl_statusor absl_strings
  PRIVATE absl_fixed_array absl_hash ${ruy_like_pc_cpuinfo}
  LIBS ${CMAKE_THREAD_LIBS_INIT})
if(TARGET ruy_like_quantize)
  ruy_like_install_pc(ruy_like_quantize
    DESCRIPTION "Quantization for neural-network inference with ruy_like"
    REQUIRES "ruy_like = ${PROJECT_VERSION}" absl_span
    PRIVATE absl_str_format libhwy)
endif()
if(TARGET ruy_like_c)
  ruy_like_install_pc(ruy_like_c
    DESCRIPTION "Matrix multiplication for neural-network inference, for C")
endif()
