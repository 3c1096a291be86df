# Builds test/dropin/host as a part of which the drop-in stands for ruy.
#
#   cmake -DWAY=... -DSOURCE_DIR=... -DWORK_DIR=... -DGENERATOR=...
#         -DCXX_COMPILER=... -DCXX_FLAGS=... -DNM=... -DREADELF=...
#         [-DSOURCE_OPTIONS=...] -P host_test.cmake
#
# shared           BUILD_SHARED_LIBS=ON and warnings that are errors: configures,
#                  builds, exports nothing of ruy's name from its own library,
#                  runs beside a library that does, installs nothing of ours
# bundled          the same with RUY_LIKE_BUNDLED_DEPS, whose library must ask for
#                  no library of Abseil's or cpuinfo's and export no name of
#                  theirs. Downloads them, unless
#                  SOURCE_OPTIONS have FETCHCONTENT_SOURCE_DIR_ABSL and _CPUINFO
# static           BUILD_SHARED_LIBS=OFF: can be exported
# own_cpuinfo      the host has the library cpuinfo as its target `cpuinfo`
# foreign_cpuinfo  the host has something else as its target `cpuinfo`
# cpuinfo_directory  the host adds third_party/cpuinfo before ruy
# no_build_type    the host has none, and optimisation of its own or not: ours is
#                  optimised, what is fetched too
file(REMOVE_RECURSE ${WORK_DIR})
set(strict "-Wall -Wextra -Wpedantic -Wsign-compare -Wconversion")
string(APPEND strict " -Wsign-conversion -Wundef -Werror -fno-exceptions -fno-rtti")
set(options
  -DCMAKE_BUILD_TYPE=Debug  # nothing is inlined away
  -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
  "-DCMAKE_CXX_FLAGS=${CXX_FLAGS} ${strict}"
  -DRUY_LIKE_SOURCE_DIR=${SOURCE_DIR}
  -DRUY_LIKE_RUY_DROPIN=ON
  # For time's sake.
  -DCMAKE_CXX_FLAGS_DEBUG=
  -DRUY_LIKE_KERNEL_OPTIMIZATION=-O0
  -DRUY_LIKE_COMPILE_PATHS=portable)

function(run)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

set(builds FALSE)
if(WAY MATCHES "^(shared|bundled)$")
  set(builds TRUE)
  # Sources merged: half of the time, and hosts may ask for it.
  list(APPEND options -DBUILD_SHARED_LIBS=ON -DCMAKE_UNITY_BUILD=ON)
endif()
if(WAY STREQUAL "bundled")
  list(APPEND options -DRUY_LIKE_BUNDLED_DEPS=ON ${SOURCE_OPTIONS})
elseif(WAY STREQUAL "own_cpuinfo")
  # Must not be looked for anywhere else, nor made once more.
  file(WRITE ${WORK_DIR}/fetched/CMakeLists.txt
    "message(FATAL_ERROR \"another cpuinfo was fetched\")\n")
  list(APPEND options -DHOST_CPUINFO=own
    -DCMAKE_DISABLE_FIND_PACKAGE_cpuinfo=ON
    -DFETCHCONTENT_SOURCE_DIR_CPUINFO=${WORK_DIR}/fetched)
elseif(WAY STREQUAL "foreign_cpuinfo")
  list(APPEND options -DHOST_CPUINFO=foreign)
elseif(WAY STREQUAL "cpuinfo_directory")
  list(APPEND options -DHOST_CPUINFO=directory)
endif()

# A stand-in for cpuinfo's sources, so that something is fetched without a network.
function(write_fake_cpuinfo dir)
  file(WRITE ${dir}/cpuinfo.h "int cpuinfo_fake(void);\n")
  file(WRITE ${dir}/fake_cpuinfo.c
    "#include <cpuinfo.h>\nint cpuinfo_fake(void) { return 0; }\n")
  file(WRITE ${dir}/CMakeLists.txt [[
    cmake_minimum_required(VERSION 3.5)
    project(cpuinfo C)
    add_library(cpuinfo STATIC fake_cpuinfo.c)
    target_include_directories(cpuinfo PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
    install(TARGETS cpuinfo EXPORT cpuinfo-targets DESTINATION lib)
    install(EXPORT cpuinfo-targets NAMESPACE cpuinfo:: DESTINATION share/cpuinfo)
  ]])
endfunction()

# Fails if the command that compiles ${file} in ${WORK_DIR}/build does not have, or
# has (NOT), the option.
function(expect_option file option)
  file(STRINGS ${WORK_DIR}/build/compile_commands.json command
    REGEX "\"command\".* -c [^ ]*${file}")
  if(command STREQUAL "")
    message(FATAL_ERROR "${file} is not compiled")
  endif()
  string(REGEX MATCH " ${option} " has "${command}")
  if(ARGN STREQUAL "NOT" AND has)
    message(FATAL_ERROR "${file} is compiled with ${option}: ${command}")
  elseif(NOT ARGN STREQUAL "NOT" AND NOT has)
    message(FATAL_ERROR "${file} is compiled without ${option}: ${command}")
  endif()
endfunction()

set(fetch_fake_cpuinfo -DCMAKE_DISABLE_FIND_PACKAGE_cpuinfo=ON
  -DFETCHCONTENT_SOURCE_DIR_CPUINFO=${WORK_DIR}/fetched
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
set(ours ruy_like/front/mul.cc dropin/src/ctx.cc)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR}
  -S ${SOURCE_DIR}/test/dropin/host -B ${WORK_DIR}/build ${options})
if(WAY STREQUAL "bundled" AND NOT SOURCE_OPTIONS)
  execute_process(COMMAND ${configure}
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT result EQUAL 0 AND out MATCHES "[Ee]rror.*[Dd]ownload")
    message(FATAL_ERROR "skipped: no network to download dependencies from")
  endif()
endif()
if(WAY STREQUAL "no_build_type")
  write_fake_cpuinfo(${WORK_DIR}/fetched)
  list(TRANSFORM configure REPLACE "-DCMAKE_BUILD_TYPE=Debug"
    "-DCMAKE_BUILD_TYPE=")
  list(APPEND configure ${fetch_fake_cpuinfo} -DHOST_USES_QUANTIZE=ON)
  run(${configure})
  foreach(file ${ours} ruy_like/quantize/calibration/observer.cc fake_cpuinfo.c)
    expect_option(${file} -O2)
  endforeach()
  expect_option(engine.cc -O2 NOT)
  # A host that says what it wants has that.
  run(${configure} -DCMAKE_CXX_FLAGS=-O1 -DCMAKE_C_FLAGS=-O1)
  foreach(file ${ours} ruy_like/quantize/calibration/observer.cc fake_cpuinfo.c)
    expect_option(${file} -O1)
    expect_option(${file} -O2 NOT)
  endforeach()
  run(${configure} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS= -DCMAKE_C_FLAGS=)
  foreach(file ${ours} fake_cpuinfo.c)
    expect_option(${file} -O2 NOT)
  endforeach()
endif()
run(${configure})
if(WAY STREQUAL "cpuinfo_directory")
  # The same where there is no such package.
  file(REMOVE_RECURSE ${WORK_DIR}/build)
  write_fake_cpuinfo(${WORK_DIR}/fetched)
  run(${configure} ${fetch_fake_cpuinfo})
  expect_option(fake_cpuinfo.c -fPIC)
  expect_option(fake_cpuinfo.c -fvisibility=hidden)
endif()
if(NOT builds)
  return()
endif()

run(${CMAKE_COMMAND} --build ${WORK_DIR}/build --parallel 2)
run(${NM} -D --defined-only ${WORK_DIR}/build/libengine.so)
# Functions, variables, virtual tables and type information of ruy::, and what is
# local to its functions.
string(REGEX MATCHALL "[^\n]* _Z[A-Z]*Z?N?K?3ruy[^\n]*" exported "${output}")
list(LENGTH exported count)
if(count)
  list(JOIN exported "\n" exported)
  message(FATAL_ERROR
    "the host's library exports ${count} names of ruy's:\n${exported}")
endif()
string(FIND "${output}" "EngineRun" found)
if(found EQUAL -1)
  message(FATAL_ERROR "the host's library does not export its function")
endif()
run(${WORK_DIR}/build/program)
if(WAY STREQUAL "bundled")
  run(${READELF} -d ${WORK_DIR}/build/libengine.so)
  string(REGEX MATCHALL "NEEDED[^\n]*(absl|cpuinfo)[^\n]*" needed "${output}")
  if(needed)
    message(FATAL_ERROR "the host's library asks for ${needed}")
  endif()
  run(${NM} -D --defined-only ${WORK_DIR}/build/libengine.so)
  string(REGEX MATCHALL "[^\n]*([Aa]bsl|cpuinfo)[^\n]*" exported "${output}")
  list(LENGTH exported count)
  if(count)
    list(JOIN exported "\n" exported)
    message(FATAL_ERROR
      "the host's library exports ${count} names of its parts:\n${exported}")
  endif()
endif()
run(${CMAKE_COMMAND} --install ${WORK_DIR}/build --prefix ${WORK_DIR}/prefix)
file(GLOB_RECURSE installed ${WORK_DIR}/prefix/*ruy*)
if(installed)
  message(FATAL_ERROR "the host's installation has ours: ${installed}")
endif()
