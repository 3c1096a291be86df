# Draws the layers of a network, from its report in JSON to layers.png.
#
#   cmake -DPROGRAM=... -DPYTHON=... -DPLOT=plot.py -DDIR=... -P plot_layers_test.cmake
file(REMOVE_RECURSE ${DIR})
file(MAKE_DIRECTORY ${DIR})
execute_process(COMMAND ${PROGRAM} ${DIR}/layers.json
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PYTHON} -B ${PLOT} --out=${DIR} ${DIR}/layers.json
  RESULT_VARIABLE result ERROR_VARIABLE errors)
message("${errors}")
if(errors MATCHES "plot.py needs matplotlib")
  return()
endif()
if(NOT result EQUAL 0)
  message(FATAL_ERROR "plot.py: ${result}")
endif()
file(READ ${DIR}/layers.png start LIMIT 8 HEX)
if(NOT start STREQUAL "89504e470d0a1a0a")
  message(FATAL_ERROR "layers.png is no PNG")
endif()
