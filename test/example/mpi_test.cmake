# Runs example/mpi over 1, 2, 3 and 4 ranks on this machine: each says that its
# results are those of the whole product, and all print the same checksums.
# Then with a damaged file: it ends with an error, and does not hang.
#
#   cmake -DPROGRAM=... -DMPIEXEC=... -P mpi_test.cmake
#
# Settings of Open MPI, which other MPIs ignore: root may run it, more ranks
# than cores, and no network but the loopback device.
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_hwloc_base_binding_policy} none)
set(ENV{OMPI_MCA_btl} self,tcp)
set(ENV{OMPI_MCA_btl_tcp_if_include} lo)
set(ENV{OMPI_MCA_oob_tcp_if_include} lo)
set(ENV{OMPI_MCA_mpi_yield_when_idle} 1)
# MPI itself leaves memory behind at its end.
set(ENV{LSAN_OPTIONS} detect_leaks=0)

set(weights ${CMAKE_CURRENT_BINARY_DIR}/mpi_test_weights.bin)
file(REMOVE ${weights})
set(expected "")
foreach(ranks 1 2 3 4)
  execute_process(COMMAND ${MPIEXEC} -n ${ranks} ${PROGRAM} ${weights}
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT 120)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ranks} ranks end with ${result}\n${out}${err}")
  endif()
  if(NOT out MATCHES "^ranks +${ranks}, of 8 shards\n(.*)")
    message(FATAL_ERROR "${ranks} ranks say\n${out}")
  endif()
  set(checksums "${CMAKE_MATCH_1}")
  if(NOT checksums MATCHES "by rows.*equal.*block.*equal.*by depth.*equal")
    message(FATAL_ERROR "${ranks} ranks say\n${out}")
  endif()
  if(expected STREQUAL "")
    set(expected "${checksums}")
  elseif(NOT checksums STREQUAL expected)
    message(FATAL_ERROR "1 rank says\n${expected}${ranks} say\n${checksums}")
  endif()
endforeach()
message("${expected}")

file(WRITE ${weights} "RUYSHARD, as it seems, but then text follows\n")
foreach(ranks 1 2)
  execute_process(COMMAND ${MPIEXEC} -n ${ranks} ${PROGRAM} ${weights}
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT 120)
  if(NOT result EQUAL 1 OR NOT err MATCHES "no file of shards")
    message(FATAL_ERROR "a damaged file gives ${result}\n${out}${err}")
  endif()
endforeach()
file(REMOVE ${weights})
