# Runs the example programs and compares: their output with recorded text, exit
# codes with those that the programs document. doc_snippets_test.cmake holds
# README.md and doc/ against them.
#
#   cmake -DSOURCE_DIR=... -DEXAMPLE=... -DPARAMETRIZED=...
#         -DPACKED_SAMPLE=... -DEXECUTOR_SAMPLE=... -P examples_test.cmake
function(expect_equal what actual expected)
  if(NOT actual STREQUAL expected)
    message(SEND_ERROR "${what} is\n${actual}\nand should be\n${expected}")
  endif()
endfunction()

# expect_exit(<code> <regular expression for stdout and stderr> <arguments>...)
function(expect_exit code pattern)
  execute_process(COMMAND ${PARAMETRIZED} ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
  expect_equal("exit code of ${PARAMETRIZED} ${ARGN}" "${result}" "${code}")
  if(NOT "${out}${err}" MATCHES "${pattern}")
    message(SEND_ERROR
      "${PARAMETRIZED} ${ARGN} does not say '${pattern}' but\n${out}${err}")
  endif()
endfunction()

# expect_output(<what> <all of stdout> <command>...)
function(expect_output what expected)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out)
  expect_equal("the ${what}'s exit code" "${result}" 0)
  expect_equal("the ${what}'s output" "${out}" "${expected}")
endfunction()

file(READ ${SOURCE_DIR}/test/example_output.txt expected)
expect_output(example "${expected}" ${EXAMPLE})
set(weights ${CMAKE_CURRENT_BINARY_DIR}/packed_matrix_sample.bin)
expect_output("packed matrix sample" "-2 \n-2 \n" ${PACKED_SAMPLE} ${weights})
file(REMOVE ${weights})
expect_output("executor sample" "OK 300\nOK 300\nOK 300\n" ${EXECUTOR_SAMPLE})
expect_output("dynamic quantization sample"
  "-0.374969 100.912 \n-4.99975 697.419 \n9.62503 130.912 \n15.0002 737.419 \n"
  ${DYNAMIC_QUANTIZATION_SAMPLE})

expect_exit(0 "check +within" --rows=33 --depth=17 --cols=9)
expect_exit(0 "check +equal" --lhs s8 --rhs u8 --dst s8 --rows 33 --depth 17
  --cols 9 --rhs_zero_point 3 --per_channel --nobias --rhs_order=row
  --lhs_stride=20 --lhs_cache=always --threads=2)
expect_exit(0 "kernel +Portable_" --paths=portable --rows=5)
expect_exit(0 "--rhs_zero_point" --help)
expect_exit(2 "unknown flag: --row=3" --row=3)
expect_exit(2 "Illegal value 'many'" --rows=many)
expect_exit(2 "--rows needs a value" --rows)
expect_exit(2 "not a flag: 3" 3)
expect_exit(2 "must be one of col, row" --lhs_order=diagonal)
expect_exit(2 "no product" --lhs=s8)
expect_exit(2 "'sse' is no path" --paths=sse)
expect_exit(2 "stride 3.*below" --lhs_stride=3)
expect_exit(2 "a value of type s8" --lhs=s8 --rhs=s8 --dst=s8
  --lhs_zero_point=200)
expect_exit(2 "clamp_min = 3" --clamp_min=3 --clamp_max=2)
expect_exit(0 "check +equal" --lhs s8 --rhs u8 --dst f32 --rows 33 --depth 17
  --cols 9 --rhs_zero_point 3 --per_channel --bias)
expect_exit(2 "--per_channel: neither" --per_channel)
expect_exit(2 "no product .*--accum=s32" --accum=s32)

# Every combination of README's type table.
function(to_flags variable names)
  string(REGEX REPLACE "uint" "u" names "${names}")
  string(REGEX REPLACE "int" "s" names "${names}")
  string(REPLACE "float8_" "" names "${names}")
  string(REPLACE "float16" "f16" names "${names}")
  string(REPLACE "float" "f32" names "${names}")
  string(REPLACE "double" "f64" names "${names}")
  string(REPLACE ", " ";" names "${names}")
  set(${variable} "${names}" PARENT_SCOPE)
endfunction()
set(types "([a-z0-9_, ]+)")
file(STRINGS ${SOURCE_DIR}/README.md rows
  REGEX "^\\| (u?int|b?float)[a-z0-9_, ]* \\| ${types} \\| ${types} \\| ${types} \\|")
set(combinations 0)
foreach(row IN LISTS rows)
  string(REGEX MATCH "^\\| ${types} \\| ${types} \\| ${types} \\| ${types} \\|" row "${row}")
  to_flags(lhs_types "${CMAKE_MATCH_1}")
  to_flags(rhs_types "${CMAKE_MATCH_2}")
  to_flags(accum_types "${CMAKE_MATCH_3}")
  to_flags(dst_types "${CMAKE_MATCH_4}")
  foreach(lhs IN LISTS lhs_types)
    foreach(rhs IN LISTS rhs_types)
      foreach(accum IN LISTS accum_types)
        foreach(dst IN LISTS dst_types)
          expect_exit(0 "check +(equal|within)" --rows=5 --depth=6 --cols=7
            --repeat=1 --lhs=${lhs} --rhs=${rhs} --accum=${accum} --dst=${dst})
          math(EXPR combinations "${combinations} + 1")
        endforeach()
      endforeach()
    endforeach()
  endforeach()
endforeach()
# 4 pairs of bytes, 2 of bytes and int16, 4 of floats (one of them twice), 6 with
# floats of 16 bits, 12 with floats of 8.
if(NOT combinations EQUAL 65)
  message(SEND_ERROR "README.md's type table has ${combinations} combinations, not 65")
endif()
