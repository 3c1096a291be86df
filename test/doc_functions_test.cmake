# Fails if a function that quantize/ exports is not named in doc/quantization.md.
#
#   cmake -DSOURCE_DIR=<repository> -P doc_functions_test.cmake
cmake_minimum_required(VERSION 3.25)

file(READ ${SOURCE_DIR}/doc/quantization.md page)
file(GLOB headers ${SOURCE_DIR}/ruy_like/quantize/*.h)
set(looked_at 0)
foreach(header IN LISTS headers)
  file(READ ${header} text)
  # What is internal comes first in a header, and is not described.
  string(REGEX REPLACE "namespace quantize_internal {.*}  // namespace quantize_internal" ""
    text "${text}")
  string(REGEX MATCHALL "\nRUY_LIKE_EXPORT [^;({]*[ \n][A-Z][A-Za-z0-9_]*\\(" functions
    "${text}")
  foreach(function IN LISTS functions)
    string(REGEX REPLACE ".*[ \n]([A-Z][A-Za-z0-9_]*)\\($" "\\1" name "${function}")
    math(EXPR looked_at "${looked_at} + 1")
    if(NOT page MATCHES "[^A-Za-z0-9_]${name}[^A-Za-z0-9_]")
      message(SEND_ERROR "${header}: ${name} is not in doc/quantization.md")
    endif()
  endforeach()
endforeach()
if(looked_at LESS 30)
  message(FATAL_ERROR "only ${looked_at} functions were found")
endif()
message(STATUS "${looked_at} functions")
