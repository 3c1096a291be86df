# Toolchain file of test/run_compile_checks.sh: objects for another system, made by
# clang from that system's headers. Nothing is linked. It is given
#
#   RUY_LIKE_CHECK_SYSTEM   what CMAKE_SYSTEM_NAME is to be
#   RUY_LIKE_CHECK_TARGET   clang's name of the target
#   RUY_LIKE_CHECK_OPTIONS  clang's options: where the headers are
set(CMAKE_SYSTEM_NAME ${RUY_LIKE_CHECK_SYSTEM})
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${RUY_LIKE_CHECK_TARGET})
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_CXX_COMPILER_TARGET ${RUY_LIKE_CHECK_TARGET})
set(CMAKE_CXX_FLAGS_INIT ${RUY_LIKE_CHECK_OPTIONS})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# try_compile() projects read this file again, without the cache.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES
  RUY_LIKE_CHECK_SYSTEM RUY_LIKE_CHECK_TARGET RUY_LIKE_CHECK_OPTIONS)
