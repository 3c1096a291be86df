# Runs a portfile with stand-ins for the functions of vcpkg that it calls, with
# the system's dependencies and little to compile.
#
#   cmake -DPORT=... -DWORK=... -P vcpkg.cmake
set(CURRENT_PACKAGES_DIR ${WORK}/packages)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(arg "" OUT_FEATURE_OPTIONS FEATURES ${ARGN})
  set(options "")
  while(arg_FEATURES)  # all of them are wanted
    list(POP_FRONT arg_FEATURES feature option)
    list(APPEND options -D${option}=ON)
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(arg "" SOURCE_PATH OPTIONS ${ARGN})
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK}/build
    -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR=lib
    -DCMAKE_BUILD_TYPE=Debug -DRUY_LIKE_KERNEL_OPTIMIZATION=-O0
    -DRUY_LIKE_COMPILE_PATHS=avx2 ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${WORK}/build --parallel 2)
  run(${CMAKE_COMMAND} --install ${WORK}/build)
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(arg "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
  set(config ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/${arg_PACKAGE_NAME}-config.cmake)
  if(NOT EXISTS ${config})
    message(FATAL_ERROR "no ${config}")
  endif()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(arg "" "" FILE_LIST ${ARGN})
  foreach(file IN LISTS arg_FILE_LIST)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "no ${file}")
    endif()
  endforeach()
endfunction()

include(${PORT}/portfile.cmake)
