# Fails if a source of the library, ruy_like/<room>/<name>.cc, has no test
# test/<room>/<name>_test.cc and does not say, in a line "// Tested in
# test/<file>.", where it is tested.
#
#   cmake -DSOURCE_DIR=<repository> -P sources_have_tests_test.cmake
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR}/ruy_like ${SOURCE_DIR}/ruy_like/*.cc)
foreach(source IN LISTS sources)
  string(REGEX REPLACE "[.]cc$" "_test.cc" test "test/${source}")
  if(EXISTS ${SOURCE_DIR}/${test})
    continue()
  endif()
  file(STRINGS ${SOURCE_DIR}/ruy_like/${source} line REGEX "^// Tested in test/"
    LIMIT_COUNT 1)
  if(NOT line MATCHES "^// Tested in (test/[^ ]*_test[.]cc)[.]$")
    message(SEND_ERROR "${source}: there is no ${test}, and it does not say where it is tested")
  elseif(NOT EXISTS ${SOURCE_DIR}/${CMAKE_MATCH_1})
    message(SEND_ERROR "${source} says that it is tested in ${CMAKE_MATCH_1}, which is not there")
  endif()
endforeach()
list(LENGTH sources count)
if(count LESS 60)
  message(FATAL_ERROR "only ${count} sources seen in ${SOURCE_DIR}/ruy_like")
endif()
message(STATUS "looked at ${count} sources")
