# Holds each C++ snippet of README.md and doc/ against the program that the line
# above it names, runs these programs, and holds what they print against the page:
#
#   <!-- program: FILE -->   the snippet is all of the file. Where a paragraph
#                            "prints" follows it, the block after that is all that
#                            the program writes to stdout.
#   <!-- part: FILE -->      the snippet is in the file, indentation apart
#
# Blocks of Python are run by test/python/test_ruy_like.py.
# Commands and CMake lines are run elsewhere, by a script that takes them from the
# page or has them itself: each block must be in the list of these below.
#
#   cmake -DSOURCE_DIR=... -DWORK_DIR=... -DPROGRAMS=<file> [-DUPDATE=ON]
#         -P doc_snippets_test.cmake
#
# PROGRAMS has a line for each program: FILE|executable|argument. Each must be on a
# page and end with 0. With UPDATE the pages' snippets and output are written anew.
cmake_minimum_required(VERSION 3.25)

file(MAKE_DIRECTORY ${WORK_DIR})
file(STRINGS ${PROGRAMS} programs)
foreach(program IN LISTS programs)
  string(REPLACE "|" ";" program "${program}")
  list(POP_FRONT program name)
  list(APPEND names ${name})
  execute_process(COMMAND ${program} WORKING_DIRECTORY ${WORK_DIR}
    RESULT_VARIABLE result OUTPUT_VARIABLE out_${name} ERROR_VARIABLE err)
  if(NOT result EQUAL 0)
    message(SEND_ERROR "${name} ends with ${result}\n${out_${name}}${err}")
  endif()
endforeach()

# without_indentation(<variable> <text>)
function(without_indentation variable text)
  string(REGEX REPLACE "\n +" "\n" text "\n${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# take_until(<mark>): moves what `rest` has up to the end of the mark to `taken`.
macro(take_until mark)
  string(FIND "${rest}" "${mark}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${page}: no ${mark} after\n${taken}")
  endif()
  string(LENGTH "${mark}" length)
  math(EXPR position "${position} + ${length}")
  string(SUBSTRING "${rest}" 0 ${position} taken)
  string(SUBSTRING "${rest}" ${position} -1 rest)
endmacro()

set(shown "")
set(fence "```cpp\n")
file(GLOB pages RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/README.md ${SOURCE_DIR}/doc/*.md)
foreach(page IN LISTS pages)
  file(READ ${SOURCE_DIR}/${page} rest)
  set(written "")
  while(TRUE)
    string(FIND "${rest}" "${fence}" position)
    if(position EQUAL -1)
      break()
    endif()
    take_until("${fence}")
    string(APPEND written "${taken}")
    string(REGEX MATCH "<!-- (program|part): ([^ ]+) -->\n${fence}$" match "${taken}")
    set(kind "${CMAKE_MATCH_1}")
    set(name "${CMAKE_MATCH_2}")
    take_until("\n```\n")
    string(REGEX REPLACE "```\n$" "" block "${taken}")
    if(NOT match OR NOT name IN_LIST names)
      message(SEND_ERROR "${page}: of no program that is built and run:\n${block}")
      string(APPEND written "${taken}")
      continue()
    endif()
    list(APPEND shown ${name})
    file(READ ${SOURCE_DIR}/${name} source)
    if(kind STREQUAL "part")
      without_indentation(part "${block}")
      without_indentation(all "${source}")
      string(FIND "${all}" "${part}" position)
      if(position EQUAL -1)
        message(SEND_ERROR "${page}: not in ${name}:\n${block}")
      endif()
      string(APPEND written "${taken}")
      continue()
    endif()
    if(NOT UPDATE AND NOT block STREQUAL source)
      message(SEND_ERROR "${page} should show ${name}:\n${source}and shows\n${block}"
        "(cmake -DUPDATE=ON -P this script writes it)")
    endif()
    string(APPEND written "${source}```\n")
    string(REGEX MATCH "^\nprints\n\n```\n" prints "${rest}")
    if(prints)
      take_until("${prints}")
      string(APPEND written "${prints}")
      take_until("```\n")
      string(REGEX REPLACE "```\n$" "" block "${taken}")
      if(NOT UPDATE AND NOT block STREQUAL "${out_${name}}")
        message(SEND_ERROR "${page}: ${name} prints\n${out_${name}}not\n${block}")
      endif()
      string(APPEND written "${out_${name}}```\n")
    endif()
  endwhile()
  if(UPDATE)
    file(WRITE ${SOURCE_DIR}/${page} "${written}${rest}")
  endif()
endforeach()

# <page>|<script>[|command]...: of the page's ```bash blocks the script runs these
# commands, or all that are there.
set(bash_blocks
  "README.md|.ci/run|bash example/run.sh|bash example/c/run.sh|bash example/notebook/run.sh|bash test/run.sh"
  "doc/CONTRIBUTING.md|.ci/run|bash test/run.sh|.ci/run"
  "doc/embedding.md|test/consumer/run.sh"
  "doc/python.md|test/python/run.sh"
  "doc/recipes.md|test/consumer/run.sh"
  "doc/reference.md|.ci/run")
set(cmake_blocks
  "doc/embedding.md|test/consumer/run.sh"
  "doc/migrating_from_ruy.md|test/consumer/run.sh"
  "doc/recipes.md|test/consumer/run.sh")
foreach(page IN LISTS pages)
  file(STRINGS ${SOURCE_DIR}/${page} lines)
  set(kind "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^ *```(.*)$")
      if(kind STREQUAL "")
        set(kind "${CMAKE_MATCH_1}")
        if(kind STREQUAL "")
          set(kind text)
        endif()
        if(NOT kind MATCHES "^(text|cpp|bash|cmake|python)$")
          message(SEND_ERROR "${page}: nothing runs blocks of ${kind}")
        endif()
      else()
        set(kind "")
      endif()
    elseif(kind MATCHES "bash|cmake")
      set(entries ${${kind}_blocks})
      list(FILTER entries INCLUDE REGEX "^${page}[|]")
      string(REPLACE "|" ";" entries "${entries}")
      list(LENGTH entries length)
      if(length EQUAL 0)
        message(SEND_ERROR "${page}: what runs this?\n${line}")
        break()
      endif()
      list(POP_FRONT entries ignored script)
      file(READ ${SOURCE_DIR}/${script} content)
      string(REGEX REPLACE " *#.*$" "" line "${line}")
      if(entries AND NOT line IN_LIST entries)
        message(SEND_ERROR "${page}: ${script} does not run\n${line}")
      endif()
      if(NOT entries AND NOT content MATCHES "${page}"
          OR entries AND NOT line STREQUAL script
            AND NOT content MATCHES "${line}")
        message(SEND_ERROR "${script} has nothing of ${page}:\n${line}")
      endif()
    elseif(kind STREQUAL "text" AND line MATCHES "^(cmake|ctest|bash|git) ")
      message(SEND_ERROR "${page}: a command outside of a block of bash:\n${line}")
    endif()
  endforeach()
endforeach()

foreach(name IN LISTS names)
  if(NOT name IN_LIST shown)
    message(SEND_ERROR "${name} is on no page")
  endif()
  file(STRINGS ${SOURCE_DIR}/${name} lines NEWLINE_CONSUME)
  string(REGEX MATCHALL "\n" lines "${lines}")
  list(LENGTH lines count)
  if(name MATCHES "/recipes/" AND count GREATER 40)
    message(SEND_ERROR "${name} has ${count} lines, more than 40")
  endif()
endforeach()
list(LENGTH shown count)
message(STATUS "looked at ${count} snippets")
