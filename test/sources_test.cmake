# Fails if a source of the library has no test of its name and does not say, in a
# line "// Tested in test/<file>.", where it is tested. The back-end's sources are
# tested by path, test/kernels/ and test/pack/; quantize/ by layer, test/quantize/.
#
#   cmake -DSOURCE_DIR=<repository> -P sources_test.cmake
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE tests ${SOURCE_DIR}/test/*_test.cc)
list(TRANSFORM tests REPLACE ".*/" "")
file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/ruy_like/*.cc)
set(looked_at 0)
foreach(source IN LISTS sources)
  if(source MATCHES "^ruy_like/(kernels|pack|quantize)/")
    continue()
  endif()
  math(EXPR looked_at "${looked_at} + 1")
  get_filename_component(name ${source} NAME_WE)
  if("${name}_test.cc" IN_LIST tests)
    continue()
  endif()
  file(STRINGS ${SOURCE_DIR}/${source} line REGEX "^// Tested in test/" LIMIT_COUNT 1)
  if(NOT line MATCHES "^// Tested in (test/[^ ]*[.]cc)[.]$")
    message(SEND_ERROR "${source} has no ${name}_test.cc and does not say where it is tested")
  elseif(NOT EXISTS ${SOURCE_DIR}/${CMAKE_MATCH_1})
    message(SEND_ERROR "${source} says that it is tested in ${CMAKE_MATCH_1}, which is not there")
  endif()
endforeach()
if(looked_at LESS 20)
  message(FATAL_ERROR "only ${looked_at} sources seen in ${SOURCE_DIR}/ruy_like")
endif()
message(STATUS "looked at ${looked_at} sources")
