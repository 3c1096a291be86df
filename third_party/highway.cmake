# hwy::hwy, for ruy_like::quantize alone: the system's, else the upstream release
# that Debian 12 has.
if(NOT TARGET hwy::hwy)
  find_package(hwy CONFIG QUIET)
endif()
if(NOT TARGET hwy::hwy)
  include(FetchContent)
  set(BUILD_TESTING OFF)  # Highway's own; a plain variable, for this scope
  set(HWY_ENABLE_CONTRIB OFF CACHE BOOL "" FORCE)
  set(HWY_ENABLE_EXAMPLES OFF CACHE BOOL "" FORCE)
  set(HWY_ENABLE_INSTALL ${RUY_LIKE_INSTALL} CACHE BOOL "" FORCE)
  FetchContent_Declare(hwy
    URL https://github.com/google/highway/archive/refs/tags/1.0.3.tar.gz
    URL_HASH SHA256=566fc77315878473d9a6bd815f7de78c73734acdcb745c3dde8579560ac5440e
    DOWNLOAD_EXTRACT_TIMESTAMP FALSE)
  FetchContent_MakeAvailable(hwy)
  set_target_properties(hwy PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(NOT TARGET hwy::hwy)
    add_library(hwy::hwy ALIAS hwy)
  endif()
endif()
