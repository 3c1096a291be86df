# Runs the drop-in's sample and compares its output, and its text with that in
# doc/migrating_from_ruy.md.
#
#   cmake -DSOURCE_DIR=... -DSAMPLE=... -P sample_test.cmake
set(expected
  "20 \n47 \ndimensions do not match: dst rows = 3, lhs rows = 2; lhs is 2x3, rhs is 3x1, dst is 3x1\n")
execute_process(COMMAND ${SAMPLE}
  RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT result EQUAL 0 OR NOT out STREQUAL expected)
  message(SEND_ERROR
    "the sample ends with ${result} and says\n${out}"
    "and should say\n${expected}")
endif()
if(NOT err MATCHES "^kernel: [A-Za-z0-9_]+\n$")
  message(SEND_ERROR "the sample names its kernel so: ${err}")
endif()

file(READ ${SOURCE_DIR}/doc/migrating_from_ruy.md page)
file(READ ${SOURCE_DIR}/example/ruy_dropin_sample.cc sample)
string(FIND "${page}" "```cpp\n${sample}```\n" position)
if(position EQUAL -1)
  message(SEND_ERROR
    "doc/migrating_from_ruy.md does not hold example/ruy_dropin_sample.cc")
endif()
