# Fails if a file of ruy_like/ includes one that its layer must not know. The
# permitted arrows are the table in doc/design.md. And if a source of the library or
# of the drop-in includes a header of an operating system, or names one's macro,
# outside of the room for that.
#
#   cmake -DSOURCE_DIR=<repository> -P layers_test.cmake
cmake_minimum_required(VERSION 3.25)

set(rooms "")
file(STRINGS ${SOURCE_DIR}/doc/design.md rows REGEX "^\\| [a-z]+ \\| `")
foreach(row IN LISTS rows)
  string(REGEX MATCH "^\\| ([a-z]+) \\| `([^`]*)` \\|([^|]*)\\|" row "${row}")
  set(room ${CMAKE_MATCH_1})
  list(APPEND rooms ${room})
  separate_arguments(files_${room} UNIX_COMMAND "${CMAKE_MATCH_2}")
  separate_arguments(permits_${room} UNIX_COMMAND "${CMAKE_MATCH_3}")
  foreach(permitted IN LISTS permits_${room})
    # The rooms are listed from the bottom up: arrows go down only.
    if(NOT permitted IN_LIST rooms)
      message(SEND_ERROR "${room} may not include ${permitted}, which is not below")
    endif()
  endforeach()
endforeach()
list(LENGTH rooms count)
if(count LESS 5)
  message(FATAL_ERROR "doc/design.md has no table of layers")
endif()

# The room of a file, given by its path in ruy_like/.
function(find_room path result)
  foreach(room IN LISTS rooms)
    foreach(entry IN LISTS files_${room})
      string(FIND "${path}" "${entry}" at)
      string(REPLACE "*" "[^/]*" pattern "${entry}")
      if(path STREQUAL entry OR path MATCHES "^${pattern}$"
          OR (entry MATCHES "/$" AND at EQUAL 0))
        set(${result} ${room} PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endforeach()
  message(SEND_ERROR "${path} belongs to no room of doc/design.md")
  set(${result} "" PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR}/ruy_like
  ${SOURCE_DIR}/ruy_like/*.h ${SOURCE_DIR}/ruy_like/*.cc)
set(arrows 0)
foreach(source IN LISTS sources)
  find_room(${source} from)
  file(STRINGS ${SOURCE_DIR}/ruy_like/${source} includes
    REGEX "^#include \"ruy_like/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"ruy_like/([^\"]*)\".*" "\\1" include
      "${include}")
    find_room(${include} to)
    math(EXPR arrows "${arrows} + 1")
    if(NOT to STREQUAL from AND NOT to IN_LIST permits_${from})
      message(SEND_ERROR
        "ruy_like/${source} (${from}) includes ruy_like/${include} (${to})")
    endif()
  endforeach()
endforeach()
if(arrows LESS 100)
  message(FATAL_ERROR "only ${arrows} includes seen in ${SOURCE_DIR}/ruy_like")
endif()
message(STATUS "looked at ${arrows} includes")

# Headers and macros that C++ does not have. (A processor's are no system's:
# __x86_64__, <cpuid.h>.) ruy's public header platform.h has macros for systems.
string(CONCAT system_headers "^ *# *include *<(sys/|linux/|os/|mach/|emscripten|"
  "(unistd|sched|pthread|fcntl|signal|dlfcn|poll|semaphore|spawn|dirent|windows|"
  "winsock2|io|process|malloc|alloca|strings|glob|pwd)[.]h>)")
string(CONCAT system_macros "(^|[^A-Za-z0-9_])(__linux__|__linux|__gnu_linux__|linux|"
  "__APPLE__|_WIN32|_WIN64|WIN32|__MINGW32__|__MINGW64__|__CYGWIN__|"
  "_MSC_VER|__ANDROID__|__BIONIC__|__FreeBSD__|__NetBSD__|__OpenBSD__|"
  "__EMSCRIPTEN__|__wasi__|__unix__|__unix|_POSIX_VERSION|__GLIBC__)"
  "([^A-Za-z0-9_]|$)")
file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR}
  ${SOURCE_DIR}/ruy_like/*.h ${SOURCE_DIR}/ruy_like/*.inc ${SOURCE_DIR}/ruy_like/*.cc
  ${SOURCE_DIR}/dropin/*.h ${SOURCE_DIR}/dropin/*.cc)
set(inside 0)
foreach(source IN LISTS sources)
  file(STRINGS ${SOURCE_DIR}/${source} headers REGEX "${system_headers}")
  file(STRINGS ${SOURCE_DIR}/${source} macros REGEX "^ *#.*${system_macros}")
  if(source MATCHES "^ruy_like/os/")
    list(LENGTH headers count)
    math(EXPR inside "${inside} + ${count}")
  elseif(NOT source STREQUAL "dropin/include/ruy/platform.h")
    foreach(line IN LISTS headers macros)
      message(SEND_ERROR "${source} knows an operating system: ${line}")
    endforeach()
  endif()
endforeach()
if(inside LESS 10)
  message(FATAL_ERROR "only ${inside} headers of systems seen in ruy_like/os")
endif()
