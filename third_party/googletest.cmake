# GTest::gtest and GTest::gmock, for the tests alone: the system's, else an
# upstream release.
if(NOT TARGET GTest::gtest)
  find_package(GTest CONFIG QUIET)
endif()
if(NOT TARGET GTest::gtest OR NOT TARGET GTest::gmock)
  include(FetchContent)
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  FetchContent_Declare(googletest
    URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
    URL_HASH SHA256=8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7
    DOWNLOAD_EXTRACT_TIMESTAMP FALSE)
  FetchContent_MakeAvailable(googletest)
endif()
