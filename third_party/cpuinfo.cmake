# cpuinfo::cpuinfo: the system's, else upstream at a pinned commit (it makes no
# releases). cmake/Findcpuinfo.cmake says why the system's own CMake config is
# not asked.
if(NOT TARGET cpuinfo::cpuinfo)
  list(PREPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
  find_package(cpuinfo MODULE QUIET)
  list(POP_FRONT CMAKE_MODULE_PATH)
endif()
if(NOT TARGET cpuinfo::cpuinfo)
  include(FetchContent)
  set(CPUINFO_BUILD_TOOLS OFF CACHE BOOL "" FORCE)
  set(CPUINFO_BUILD_UNIT_TESTS OFF CACHE BOOL "" FORCE)
  set(CPUINFO_BUILD_MOCK_TESTS OFF CACHE BOOL "" FORCE)
  set(CPUINFO_BUILD_BENCHMARKS OFF CACHE BOOL "" FORCE)
  set(CPUINFO_BUILD_PKG_CONFIG ON CACHE BOOL "" FORCE)
  FetchContent_Declare(cpuinfo
    URL https://github.com/pytorch/cpuinfo/archive/3c8b1533ac03dd6531ab6e7b9245d488f13a82a5.zip
    URL_HASH SHA256=5d7f00693e97bd7525753de94be63f99b0490ae6855df168f5a6b2cfc452e49e
    DOWNLOAD_EXTRACT_TIMESTAMP FALSE)
  FetchContent_MakeAvailable(cpuinfo)
  set_target_properties(cpuinfo PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(NOT TARGET cpuinfo::cpuinfo)
    add_library(cpuinfo::cpuinfo ALIAS cpuinfo)
  endif()
endif()
