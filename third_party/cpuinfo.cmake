# cpuinfo::cpuinfo: the host's, under that name or as its target `cpuinfo`; else
# the system's, unless RUY_LIKE_BUNDLED_DEPS; else upstream at a pinned commit (it
# makes no releases). cmake/Findcpuinfo.cmake says why the system's own CMake
# config is not asked.

include(${CMAKE_CURRENT_LIST_DIR}/fetch.cmake)

# Sets ${result} to whether the target `cpuinfo` is this library: projects name
# things of their own so, too.
function(_ruy_like_is_cpuinfo_library result)
  set(${result} FALSE PARENT_SCOPE)
  if(NOT TARGET cpuinfo)
    return()
  endif()
  get_target_property(type cpuinfo TYPE)
  if(NOT type MATCHES "_LIBRARY$")
    return()
  endif()
  get_target_property(directories cpuinfo INTERFACE_INCLUDE_DIRECTORIES)
  foreach(directory IN LISTS directories)
    string(REGEX REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1" directory
      "${directory}")
    if(EXISTS ${directory}/cpuinfo.h)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

if(NOT TARGET cpuinfo::cpuinfo)
  _ruy_like_is_cpuinfo_library(ruy_like_host_has_cpuinfo)
  if(ruy_like_host_has_cpuinfo)
    get_target_property(ruy_like_cpuinfo cpuinfo ALIASED_TARGET)
    if(NOT ruy_like_cpuinfo)
      set(ruy_like_cpuinfo cpuinfo)
    endif()
    add_library(cpuinfo::cpuinfo ALIAS ${ruy_like_cpuinfo})
  endif()
endif()
if(TARGET cpuinfo::cpuinfo)
  ruy_like_note_host_target(cpuinfo::cpuinfo cpuinfo)
endif()
if(NOT TARGET cpuinfo::cpuinfo AND NOT RUY_LIKE_BUNDLED_DEPS)
  list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/../cmake)
  find_package(cpuinfo MODULE QUIET)
  list(POP_FRONT CMAKE_MODULE_PATH)
endif()
if(NOT TARGET cpuinfo::cpuinfo)
  if(TARGET cpuinfo)
    message(FATAL_ERROR
      "ruy_like needs the library cpuinfo (github.com/pytorch/cpuinfo). The "
      "target 'cpuinfo' of this project is not that library, and takes its "
      "name: install the library, or make it the target cpuinfo::cpuinfo")
  endif()
  set(CPUINFO_LIBRARY_TYPE static CACHE STRING "" FORCE)
  set(CPUINFO_BUILD_TOOLS OFF CACHE BOOL "" FORCE)
  set(CPUINFO_BUILD_UNIT_TESTS OFF CACHE BOOL "" FORCE)
  set(CPUINFO_BUILD_MOCK_TESTS OFF CACHE BOOL "" FORCE)
  set(CPUINFO_BUILD_BENCHMARKS OFF CACHE BOOL "" FORCE)
  set(CPUINFO_BUILD_PKG_CONFIG ON CACHE BOOL "" FORCE)
  FetchContent_Declare(cpuinfo
    URL https://github.com/pytorch/cpuinfo/archive/3c8b1533ac03dd6531ab6e7b9245d488f13a82a5.zip
    URL_HASH SHA256=5d7f00693e97bd7525753de94be63f99b0490ae6855df168f5a6b2cfc452e49e
    DOWNLOAD_EXTRACT_TIMESTAMP FALSE)
  ruy_like_fetch(cpuinfo)
  if(NOT TARGET cpuinfo::cpuinfo)
    add_library(cpuinfo::cpuinfo ALIAS cpuinfo)
  endif()
endif()
