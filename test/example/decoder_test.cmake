# Runs example/decoder and holds its output against what it must say.
#
#   cmake -DPROGRAM=... -DFOLDER=.../example/decoder -DCHARACTERS=...
#         -P decoder_test.cmake
function(expect_exit code pattern)
  execute_process(COMMAND ${PROGRAM} --folder=${FOLDER} ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT result STREQUAL code)
    message(SEND_ERROR "exit code of ${ARGN} is ${result}, not ${code}")
  endif()
  if(NOT "${out}${err}" MATCHES "${pattern}")
    message(SEND_ERROR "${ARGN} does not say '${pattern}' but\n${out}${err}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

set(bits "[0-9]\\.[0-9][0-9][0-9][0-9]")
string(CONCAT table
  "float's logits: within 1e-4 of PyTorch's\n"
  "\nweights +bits per character +bytes a token\n"
  "float +(${bits}) +3473664  [^\n]*\n"
  "bf16 +(${bits}) +1736960  [^\n]*\n"
  "int8 +${bits} +891648  [^\n]*\n"
  "4b G128 +${bits} +448000  [^\n]*\n"
  "4b G32 +${bits} +488704  [^\n]*\n"
  ".*\nA sample .float.:\nThe ")
set(arguments --check --nospeed --characters=${CHARACTERS} --sample=40)
expect_exit(0 "${table}" ${arguments})
if(CHARACTERS)  # the whole text takes several seconds
  set(first "${output}")
  expect_exit(0 "${table}" ${arguments})
  if(NOT output STREQUAL first)
    message(SEND_ERROR "twice the same, and\n${first}\nbecomes\n${output}")
  endif()
endif()
expect_exit(0 "tokens a second +bytes" --characters=64 --formats=int8 --sample=0)
expect_exit(0 "--temperature" --help)
expect_exit(2 "--check compares with float" --check --formats=bf16
  --characters=8 --sample=0)
expect_exit(2 "unknown flag" --nosuch)
expect_exit(2 "'int1' is none" --formats=float,int1)
expect_exit(2 "nowhere/model.bf16: cannot be opened" --folder=nowhere)
