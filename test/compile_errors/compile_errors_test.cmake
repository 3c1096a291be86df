# Compiles wrong_types.cc with each mistake and expects one error, which says what
# the mistake is.
#
#   cmake -DCOMPILER=... -DINCLUDES=DIR,DIR... -P compile_errors_test.cmake
cmake_minimum_required(VERSION 3.25)

string(REPLACE "," ";" includes "${INCLUDES}")
list(REMOVE_DUPLICATES includes)
list(TRANSFORM includes PREPEND -I)
set(messages
  "-"
  "DstScalar of MulParams is not dst's element type"
  "no such product: see the README's type table"
  "dst is a Matrix of const elements"
  "a matrix is a view: its elements must outlive it"
  "DstScalar of MulParams is not dst's element type"
  "DstScalar of MulParams is not dst's element type"
  "ReferenceMul of floats is wrong with -ffast-math"
  "ReferenceGroupMul is wrong with -ffast-math")
# Right without -ffast-math, or where asked for.
foreach(options "-fno-math-errno;-DMISTAKE=7"
        "-ffast-math;-DMISTAKE=8;-DRUY_LIKE_FAST_MATH_REFERENCE")
  execute_process(COMMAND ${COMPILER} -std=c++17 -fsyntax-only ${includes}
    ${options} ${CMAKE_CURRENT_LIST_DIR}/wrong_types.cc
    RESULT_VARIABLE result ERROR_VARIABLE err)
  if(NOT result EQUAL 0)
    message(SEND_ERROR "does not compile with ${options}:\n${err}")
  endif()
endforeach()
set(mistake 0)
foreach(message IN LISTS messages)
  execute_process(COMMAND ${COMPILER} -std=c++17 -fsyntax-only ${includes} -ffast-math
    -DMISTAKE=${mistake} ${CMAKE_CURRENT_LIST_DIR}/wrong_types.cc
    RESULT_VARIABLE result ERROR_VARIABLE err)
  string(REGEX MATCHALL "[^\n]* error: [^\n]*" errors "${err}")
  list(LENGTH errors count)
  if(mistake EQUAL 0)
    if(NOT result EQUAL 0)
      message(SEND_ERROR "what is right does not compile:\n${err}")
    endif()
  elseif(NOT count EQUAL 1 OR NOT "${errors}" MATCHES "${message}")
    message(SEND_ERROR "mistake ${mistake}: one error with '${message}' expected, not\n${err}")
  endif()
  math(EXPR mistake "${mistake} + 1")
endforeach()
