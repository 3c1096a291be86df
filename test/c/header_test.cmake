# Fails if the C interface's header does not compile by itself, as strict C99 or as
# C++, by GCC and by clang, as far as they are installed.
#
#   cmake -DSOURCE_DIR=<repository> -P header_test.cmake
cmake_minimum_required(VERSION 3.25)

foreach(dialect "c -std=c99" "c++ -std=c++98" "c++ -std=c++17")
  string(REPLACE " " ";" options "-x ${dialect} -Wall -Wextra -pedantic-errors -Werror")
  set(compilers gcc clang)
  if(dialect MATCHES "^c[+]")
    set(compilers g++ clang++)
  endif()
  foreach(compiler IN LISTS compilers)
    find_program(program_${compiler} ${compiler})
    if(NOT program_${compiler})
      message("no ${compiler}")
      continue()
    endif()
    execute_process(
      COMMAND ${program_${compiler}} ${options} -fsyntax-only -include
        ${SOURCE_DIR}/ruy_like/c/ruy_like.h /dev/null
      RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(SEND_ERROR "${compiler} ${dialect} refuses ruy_like/c/ruy_like.h")
    endif()
  endforeach()
endforeach()
