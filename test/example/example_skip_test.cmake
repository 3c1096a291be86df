# Runs an example's run.sh where no npm is: it must exit with 77 and say that it
# is skipped, and must not start the program.
#
#   cmake -DBASH=<bash> -DEXAMPLE=<its folder> -DFOLDER=<folder to work in>
#     -P example_skip_test.cmake
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/bin)
foreach(tool dirname mkdir)
  find_program(${tool}_program ${tool} REQUIRED)
  file(CREATE_LINK ${${tool}_program} ${FOLDER}/bin/${tool} SYMBOLIC)
endforeach()
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env PATH=${FOLDER}/bin
    ${BASH} ${EXAMPLE}/run.sh --program ${FOLDER}/missing --cache ${FOLDER}/cache
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE error)
if(NOT result STREQUAL "77")
  message(FATAL_ERROR "exit code ${result} instead of 77:\n${output}${error}")
endif()
cmake_path(GET EXAMPLE FILENAME name)
if(NOT error MATCHES "SKIPPED: example/${name}: .* is missing")
  message(FATAL_ERROR "no reason for the skip:\n${error}")
endif()
