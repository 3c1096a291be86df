# ruy_like_add_test(<name> <sources>... [LABELS <label>...] [LIBS <target>...])
# adds a GoogleTest program and one CTest test that runs all of it.
#
# ruy_like_add_path_tests(<name> <sources>... [LABELS ...] [LIBS ...]
#                         [EXCEPT <path>... | ONLY <path>...])
# adds a program whose suites are parametrized by path
# (test/support/test_main.cc), and one CTest test for each path of paths.inc,
# <name>.<path>, which CTest shows as skipped where the machine lacks the path;
# and <name>.rest for what belongs to no path. The tests of a path carry its name
# as a label: `ctest -L '^avx2$'`. EXCEPT names the paths that the program has
# nothing to test of, ONLY all that it has.
#
# Where the AMX path is compiled, each of its tests is there a second time as
# <name>.amx_emulated, which runs on any machine with AVX-512-VNNI
# (test/amx_emulation), with the label amx_emulated. The option AMX_EMULATED
# gives a program of the first kind such a second test too; its arguments may
# follow the option.
#
# Labels: "slow" for what takes more than some ten seconds, "concurrency" for
# what ThreadSanitizer should see. CI selects by them. The option OPTIMIZED is for
# programs whose own loops take the time, not the library's: they have -O1, with which
# gcc compiles them in two thirds of -O3's time.
include(${PROJECT_SOURCE_DIR}/third_party/googletest.cmake)

# The presets ask for -O0, at which clang compiles test programs in half the time of
# -O1 and gcc in three quarters, and for no UBSan in them, a third of gcc's time
# again; what they test is compiled as it always is. The emulator wants -O1.
set(RUY_LIKE_TEST_OPTIONS "" CACHE STRING
  "Compile options of test programs, after those of the build type")
mark_as_advanced(RUY_LIKE_TEST_OPTIONS)

# Seconds of wall time. Emulated Arm tests are limited by CPU time instead, by
# test/run_arm.sh: on a busy machine they take many times longer. Theirs ends a
# test that hangs.
set(test_timeout 600)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|armv7l)$")
  set(test_timeout 3600)
endif()

add_custom_target(ruy_like_tests)
# Further targets that tests with the label "nightly" need.
add_custom_target(ruy_like_nightly_tests)
# Those with the label "concurrency".
add_custom_target(ruy_like_concurrency_tests)

# Has the targets above build a test program with these labels.
function(ruy_like_build_with_tests name)
  add_dependencies(ruy_like_tests ${name})
  if("concurrency" IN_LIST ARGN)
    add_dependencies(ruy_like_concurrency_tests ${name})
  endif()
endfunction()

function(_ruy_like_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZED" ""
    "LABELS;LIBS;EXCEPT;ONLY;AMX_EMULATED")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}
    PRIVATE ruy_like_test_main ruy_like_internal GTest::gmock GTest::gtest
      ${arg_LIBS})
  # For compiled_paths.inc.
  target_include_directories(${name} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  ruy_like_set_warnings(${name})
  set(options ${RUY_LIKE_TEST_OPTIONS})
  if(arg_OPTIMIZED)
    list(FILTER options INCLUDE REGEX "^-O0$")
    list(TRANSFORM options REPLACE "^-O0$" "-O1")
  else()
    ruy_like_reuse_precompiled(${name} ruy_like_test_main)
  endif()
  target_compile_options(${name} PRIVATE ${options})
  ruy_like_build_with_tests(${name} ${arg_LABELS})
  set(labels "${arg_LABELS}" PARENT_SCOPE)
  set(paths ${RUY_LIKE_PATHS} rest)
  list(REMOVE_ITEM paths ${arg_EXCEPT})
  if(arg_ONLY)
    set(paths ${arg_ONLY})
  endif()
  set(paths ${paths} PARENT_SCOPE)
  set(emulated_arguments "${arg_AMX_EMULATED}" PARENT_SCOPE)
  set(emulated FALSE PARENT_SCOPE)
  if("AMX_EMULATED" IN_LIST ARGN)
    set(emulated TRUE PARENT_SCOPE)
  endif()
endfunction()

function(_ruy_like_add_emulated_test name)
  if(NOT "amx" IN_LIST RUY_LIKE_COMPILED_PATHS)
    return()
  endif()
  add_test(NAME ${name}.amx_emulated
    COMMAND ${name} ${emulated_arguments} --emulate_amx)
  set_tests_properties(${name}.amx_emulated PROPERTIES
    LABELS "amx_emulated;${labels}" SKIP_RETURN_CODE 77 TIMEOUT ${test_timeout})
endfunction()

function(ruy_like_add_test name)
  _ruy_like_test_program(${name} ${ARGN})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${test_timeout})
  if(emulated)
    _ruy_like_add_emulated_test(${name})
  endif()
endfunction()

function(ruy_like_add_path_tests name)
  _ruy_like_test_program(${name} ${ARGN})
  foreach(path IN LISTS paths)
    add_test(NAME ${name}.${path} COMMAND ${name} --path=${path})
    set_tests_properties(${name}.${path} PROPERTIES
      LABELS "${path};${labels}" SKIP_RETURN_CODE 77 TIMEOUT ${test_timeout})
  endforeach()
  if("amx" IN_LIST paths)
    set(emulated_arguments --path=amx)
    _ruy_like_add_emulated_test(${name})
  endif()
endfunction()
