# Builds test/dropin/consumer as a user of ruy would, and runs it.
#
#   cmake -DWAY=installed|subdirectory -DSOURCE_DIR=... -DBUILD_DIR=...
#         -DWORK_DIR=... -DGENERATOR=... -DBUILD_TYPE=... -DCXX_COMPILER=...
#         -DCXX_FLAGS=... -DSHARED=... -P consumer_test.cmake
#
# installed: what a plain install of this build puts somewhere must hold nothing
# of ruy's name; with the drop-in's component added, find_package(ruy) finds it.
# subdirectory: add_subdirectory with the option off must make no target ruy.
file(REMOVE_RECURSE ${WORK_DIR})
set(options
  -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
  -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
  -DCMAKE_CXX_FLAGS=${CXX_FLAGS})

function(run)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}\n${out}")
  endif()
endfunction()

if(WAY STREQUAL "installed")
  set(prefix ${WORK_DIR}/prefix)
  file(STRINGS ${BUILD_DIR}/CMakeCache.txt asked_for
    REGEX "^RUY_LIKE_RUY_DROPIN:BOOL=(ON|TRUE|1)$")
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
  file(GLOB_RECURSE ruy_files ${prefix}/*ruy/* ${prefix}/*ruy_like_dropin*)
  list(FILTER ruy_files EXCLUDE REGEX "ruy_like/")
  if(ruy_files AND NOT asked_for)
    message(FATAL_ERROR
      "a plain install has parts of the drop-in: ${ruy_files}")
  endif()
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix}
    --component ruy_dropin)
  if(EXISTS ${prefix}/include/ruy)
    message(FATAL_ERROR "the drop-in's headers are where ruy's would be")
  endif()
  list(APPEND options -DCMAKE_PREFIX_PATH=${prefix})
else()
  list(APPEND options
    -DRUY_LIKE_SOURCE_DIR=${SOURCE_DIR}
    -DRUY_LIKE_BUILD_SHARED=${SHARED}
    -DRUY_LIKE_KERNEL_OPTIMIZATION=-O1)
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR}/test/dropin/consumer
    -B ${WORK_DIR}/off ${options} -DRUY_LIKE_RUY_DROPIN=OFF)
  list(APPEND options -DRUY_LIKE_RUY_DROPIN=ON)
endif()

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR}/test/dropin/consumer
  -B ${WORK_DIR}/build ${options})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build --parallel 2)
run(${WORK_DIR}/build/consumer)
run(${WORK_DIR}/build/consumer_old_name)

# And without CMake.
find_program(PKG_CONFIG pkg-config)
if(WAY STREQUAL "installed" AND PKG_CONFIG)
  file(GLOB_RECURSE pc_file ${prefix}/*/ruy_like_dropin.pc)
  cmake_path(GET pc_file PARENT_PATH directory)
  set(ENV{PKG_CONFIG_PATH} ${directory})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ruy_like_dropin
    OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  separate_arguments(CXX_FLAGS UNIX_COMMAND "${CXX_FLAGS}")
  cmake_path(GET directory PARENT_PATH library_directory)
  run(${CXX_COMPILER} -std=c++17 ${CXX_FLAGS}
    ${SOURCE_DIR}/test/dropin/consumer/main.cc ${flags}
    -Wl,-rpath,${library_directory} -o ${WORK_DIR}/pkg_config_consumer)
  run(${WORK_DIR}/pkg_config_consumer)
endif()
