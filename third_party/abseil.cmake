# absl::status and the other absl:: targets: the system's, unless
# RUY_LIKE_BUNDLED_DEPS, else an upstream LTS release.
include(${CMAKE_CURRENT_LIST_DIR}/fetch.cmake)
if(TARGET absl::status)
  ruy_like_note_host_target(absl::status absl)
endif()
if(NOT TARGET absl::status AND NOT RUY_LIKE_BUNDLED_DEPS)
  find_package(absl CONFIG QUIET)
endif()
if(NOT TARGET absl::status)
  set(ABSL_PROPAGATE_CXX_STD ON CACHE BOOL "" FORCE)
  # Its export set is needed wherever ours is.
  if(RUY_LIKE_INSTALL OR RUY_LIKE_RUY_DROPIN)
    set(ABSL_ENABLE_INSTALL ON CACHE BOOL "" FORCE)
  endif()
  set(ABSL_BUILD_TESTING OFF CACHE BOOL "" FORCE)
  FetchContent_Declare(absl
    URL https://github.com/abseil/abseil-cpp/releases/download/20240722.0/abseil-cpp-20240722.0.tar.gz
    URL_HASH SHA256=f50e5ac311a81382da7fa75b97310e4b9006474f9560ac46f54a9967f07d4ae3
    DOWNLOAD_EXTRACT_TIMESTAMP FALSE)
  ruy_like_fetch(absl)
endif()
