# Fails if a function of quantize/ that takes a Matrix or an enumerator, or a field
# that is one, is not drawn wrong by test/quantize/matrix_arguments_test.cc.
#
#   cmake -DSOURCE_DIR=<repository> -P quantize_arguments_test.cmake
cmake_minimum_required(VERSION 3.25)

file(READ ${SOURCE_DIR}/test/quantize/matrix_arguments_test.cc test)
string(REGEX REPLACE "\n *// " " " test "${test}")
file(GLOB headers ${SOURCE_DIR}/ruy_like/quantize/*.h)
# The core's; those of the toolkit are added.
set(enums ChannelDimension Order Side)
set(texts)
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REGEX MATCHALL "enum class [A-Za-z]+" found "${text}")
  list(TRANSFORM found REPLACE "enum class " "")
  list(APPEND enums ${found})
endforeach()
list(JOIN enums "|" enums)

set(looked_at 0)
foreach(header IN LISTS headers)
  cmake_path(GET header FILENAME name)
  file(READ ${header} text)
  # Internal and private members are reached through the public ones.
  string(REGEX REPLACE "namespace quantize_internal {.*}  // namespace quantize_internal" ""
    text "${text}")
  string(REGEX REPLACE "\n private:.*\n};" "\n};" text "${text}")
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REPLACE ";" "@" text "${text}")
  string(REGEX MATCHALL
    "[A-Z][A-Za-z0-9]*\\([^@{}]*(Matrix<|[^A-Za-z](${enums}) +[a-z])[^@{}]*" functions
    "${text}")
  string(REGEX MATCHALL
    "\n  ((${enums})|Matrix<[^@]*>\\*?) [a-z_]*[a-z]( = [^@]*)?@" fields "${text}")
  foreach(declaration IN LISTS functions fields)
    if(declaration MATCHES "^\n")
      string(REGEX REPLACE "( = [^@]*)?@$" "" member "${declaration}")
      string(REGEX REPLACE ".* " "" member "${member}")
    else()
      string(REGEX REPLACE "\\(.*" "" member "${declaration}")
    endif()
    math(EXPR looked_at "${looked_at} + 1")
    if(NOT test MATCHES "[ \"]${name} ${member}[^A-Za-z_]")
      message(SEND_ERROR "${name}: ${member} is not in matrix_arguments_test.cc")
    endif()
  endforeach()
endforeach()
if(looked_at LESS 35)
  message(FATAL_ERROR "only ${looked_at} functions and fields were found")
endif()
message(STATUS "${looked_at} functions and fields")
