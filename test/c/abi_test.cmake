# Fails if what compiled programs rely on is not what abi.txt has: the functions
# that libruy_like_c.so exports and where the fields of the structs are. A line that
# is added is a minor version of the library, one that changes or goes a major one
# (ruy_like/c/exports.map).
#
#   cmake -DNM=<nm> -DLIBRARY=<libruy_like_c.so> -DPROGRAM=<c_program>
#         -DSOURCE_DIR=<repository> [-DUPDATE=ON] -P abi_test.cmake
cmake_minimum_required(VERSION 3.25)

set(file ${SOURCE_DIR}/test/c/abi.txt)
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
# The version itself is absolute.
string(REGEX REPLACE "[0-9a-f]+ A [^\n]*\n" "" symbols "${symbols}")
string(REGEX REPLACE "(^|\n)[0-9a-f]+ [A-Za-z] " "\\1" symbols "${symbols}")
execute_process(COMMAND ${PROGRAM} --abi
  OUTPUT_VARIABLE structs COMMAND_ERROR_IS_FATAL ANY)
set(abi "${symbols}${structs}")
if(UPDATE)
  file(WRITE ${file} "${abi}")
endif()
file(READ ${file} expected)
if(NOT abi STREQUAL expected)
  message(FATAL_ERROR "The ABI is not that of ${file}:\n${abi}")
endif()
# Each function of the header is exported.
file(STRINGS ${SOURCE_DIR}/ruy_like/c/ruy_like.h declarations REGEX "^RL_API ")
foreach(declaration IN LISTS declarations)
  string(REGEX MATCH "rl_[a-z_]+\\(" name "${declaration}")
  string(REPLACE "(" "@@" name "${name}")
  string(FIND "${symbols}" "${name}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "not exported: ${declaration}")
  endif()
endforeach()
