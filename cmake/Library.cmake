# What our installed libraries have in common.

include(${CMAKE_CURRENT_LIST_DIR}/Optimization.cmake)

# ruy_like_set_library_properties(<target>): version, visibility, optimisation.
function(ruy_like_set_library_properties target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  set_target_properties(${target} PROPERTIES
    VERSION ${PROJECT_VERSION}
    # Before 1.0 a minor version may break what another one was linked to.
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
  # Static libraries too become parts of shared objects: of plug-ins, of a host's
  # shared library, which may not say so for what it is made of.
  if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE OR NOT PROJECT_IS_TOP_LEVEL)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  # Failed allocations become a Status by way of std::bad_alloc, also where the host
  # is compiled without exceptions. RTTI: hosts that have it derive from our classes.
  # SHELL:, else CMake leaves out what it thinks was said before.
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT EMSCRIPTEN)
    target_compile_options(${target} PRIVATE "SHELL:-fexceptions -frtti")
  endif()
  target_compile_options(${target} PRIVATE ${RUY_LIKE_DEFAULT_OPTIMIZATION})
  # A program that is linked to the drop-in or to quantize alone finds ruy_like
  # through them: they lie in one directory.
  if(UNIX AND NOT APPLE AND NOT DEFINED CMAKE_INSTALL_RPATH)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
endfunction()

# ruy_like_precompile(<target> <header>...): GCC reads these headers once for all of the
# target's sources, which takes a third of the time of a small one. Clang reads each
# source's own includes, so that one that is missing is found.
set(RUY_LIKE_PRECOMPILE OFF)
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
   AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(RUY_LIKE_PRECOMPILE ON)
endif()
function(ruy_like_precompile target)
  if(RUY_LIKE_PRECOMPILE)
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
# The same with another target's, which has the same compile options.
function(ruy_like_reuse_precompiled target from)
  if(RUY_LIKE_PRECOMPILE)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
endfunction()

# ruy_like_add_system(<target> <dir>): the sources of the system that this build is
# for, and its libraries.
function(ruy_like_add_system target dir)
  if(WIN32)
    target_sources(${target} PRIVATE ${dir}/windows.cc)
    # WaitOnAddress. Not by its name alone, which is a target of an Abseil that is
    # built along.
    target_link_libraries(${target} PRIVATE -lsynchronization)
  elseif(EMSCRIPTEN)
    target_sources(${target} PRIVATE ${dir}/wasm.cc)
  elseif(CMAKE_SYSTEM_NAME MATCHES "^(Linux|Android)$")
    target_sources(${target} PRIVATE ${dir}/cgroup.cc ${dir}/linux.cc ${dir}/unix.cc)
  else()
    target_sources(${target} PRIVATE ${dir}/posix.cc ${dir}/sleepers.cc ${dir}/unix.cc)
  endif()
endfunction()

# ruy_like_set_exports(<target>): what the library exports where it is shared.
function(ruy_like_set_exports target)
  if(RUY_LIKE_BUILD_SHARED)
    # In a static build the macro is empty: a shared object that we are linked
    # into must not export our symbols as its own.
    target_compile_definitions(${target} PRIVATE
      $<IF:$<BOOL:${WIN32}>,RUY_LIKE_BUILD_DLL,RUY_LIKE_BUILD_SHARED>)
    if(UNIX AND NOT APPLE)
      set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
      target_link_options(${target} PRIVATE LINKER:--version-script=${exports})
      set_target_properties(${target} PROPERTIES LINK_DEPENDS ${exports})
    endif()
  endif()
endfunction()

# ruy_like_add_internal_library(<target> [REPLACE <library> <by>]): makes
# <target>_internal, what tests and benchmarks link to: a shared library hides
# what they call. <library>, among those that <target> links to, becomes <by>: no
# program is to hold a library and its internal form.
function(ruy_like_add_internal_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "REPLACE")
  if(NOT RUY_LIKE_BUILD_SHARED)
    add_library(${target}_internal ALIAS ${target})
    return()
  endif()
  add_library(${target}_internal STATIC EXCLUDE_FROM_ALL
    $<TARGET_OBJECTS:${target}>)
  set_target_properties(${target}_internal PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${target}_internal PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_features(${target}_internal PUBLIC cxx_std_17)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(arg_REPLACE)
    list(GET arg_REPLACE 0 from)
    list(GET arg_REPLACE 1 to)
    list(TRANSFORM libraries REPLACE "^${from}$" ${to})
  endif()
  target_link_libraries(${target}_internal PUBLIC ${libraries})
endfunction()
