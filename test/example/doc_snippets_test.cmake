# Runs the programs that doc/quantization.md shows and compares the page with
# their sources and their output. Between "<!-- snippet: NAME -->" and
# "<!-- end -->" it must hold just these.
#
#   cmake -DSOURCE_DIR=... -DBINARY_DIR=... -DSNIPPETS=NAME,NAME...
#         [-DUPDATE=ON] -P doc_snippets_test.cmake
#
# With UPDATE the page is written anew instead.
set(page_name ${SOURCE_DIR}/doc/quantization.md)
file(READ ${page_name} page)
string(REPLACE "," ";" names "${SNIPPETS}")

string(REGEX MATCHALL "<!-- snippet: [a-z0-9_]+ -->" on_page "${page}")
list(LENGTH on_page shown)
list(LENGTH names built)
if(NOT shown EQUAL built)
  message(SEND_ERROR "${shown} snippets on the page, ${built} are built")
endif()

foreach(name IN LISTS names)
  execute_process(COMMAND ${BINARY_DIR}/ruy_like_snippet_${name}
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT result EQUAL 0)
    message(SEND_ERROR "${name} ends with ${result}\n${out}${err}")
  endif()
  file(READ ${SOURCE_DIR}/example/quantize/snippets/${name}.cc source)
  set(begin "<!-- snippet: ${name} -->\n")
  set(block "```cpp\n${source}```\n\nprints\n\n```\n${out}```\n")
  string(FIND "${page}" "${begin}" position)
  if(position EQUAL -1)
    message(SEND_ERROR "${page_name} has no snippet ${name}")
    continue()
  endif()
  string(LENGTH "${begin}" length)
  math(EXPR position "${position} + ${length}")
  string(SUBSTRING "${page}" 0 ${position} before)
  string(SUBSTRING "${page}" ${position} -1 rest)
  string(FIND "${rest}" "<!-- end -->" end)
  if(end EQUAL -1)
    message(SEND_ERROR "${page_name}: snippet ${name} has no end")
    continue()
  endif()
  string(SUBSTRING "${rest}" 0 ${end} actual)
  string(SUBSTRING "${rest}" ${end} -1 after)
  if(UPDATE)
    set(page "${before}${block}${after}")
  elseif(NOT actual STREQUAL block)
    message(SEND_ERROR "${page_name}: snippet ${name} should be\n${block}"
      "(cmake -DUPDATE=ON -P this script writes it)")
  endif()
endforeach()
if(UPDATE)
  file(WRITE ${page_name} "${page}")
endif()
