#!/usr/bin/env bash
# Builds the tests of the paths avx512 and avx512vnni and runs them in Bochs, an
# emulator that has these instructions, on any x86 machine. From any directory.
#
#   test/run_avx512.sh --short               kernels and packing
#   test/run_avx512.sh                       and products, the long list below
#   test/run_avx512.sh --tests <regex>       tests by CTest's names
#   test/run_avx512.sh --run <program> [<argument>...]
#                                            any program, built by the caller
#
# Bochs executes some 30 million instructions a second (test/bochs.sh), a hundredth of
# the machine that it runs on: on one that has AVX-512 test/run.sh is better. It does
# not know the path avx512bf16's instructions.
#
# Boot takes most of a minute. All tests run in one boot, each for its path; a test
# whose path is not found there fails. The exit code is 77 where there is no Bochs.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

paths=(avx512 avx512vnni)
# Tests by path, and those of no path.
short_path_tests=(panel_kernel_test narrow_kernel_test float_mul_test)
short_tests=(cpu_features_test pack_test)
long_path_tests=("${short_path_tests[@]}" float16_mul_test small_stack_test
                 extreme_values_test mul_epilogue_test scaled_output_test
                 accumulate_test group_weights_test packed_matrix_test mul_test)
long_tests=("${short_tests[@]}" float16_test path_test registry_test
            narrow_selection_test products_test)

by_path=("${long_path_tests[@]}") others=("${long_tests[@]}")
regex= program=()
case "${1:-}" in
  '') ;;
  --short) by_path=("${short_path_tests[@]}") others=("${short_tests[@]}") ;;
  --tests) regex=${2:?} by_path=() others=() ;;
  --run)
    program=("$(cd "$caller" && realpath "${2:?}")" "${@:3}")
    ;;
  *)
    echo "usage: $0 [--short | --tests <regex> | --run <program> [<argument>...]]" >&2
    exit 2
    ;;
esac

if [ "$(uname -m)" != x86_64 ] || ! bash third_party/install.sh test avx512; then
  echo "SKIPPED: no Bochs here" >&2
  exit 77
fi
if grep -qw avx512_vnni /proc/cpuinfo; then
  echo "This machine has AVX-512 itself: test/run.sh is faster"
fi

folder=$PWD/build/bochs
list=$folder/list
required=$(IFS=,; echo "${paths[*]}")

if [ ${#program[@]} -gt 0 ]; then
  # With the caller's variables for the library and for GoogleTest.
  mapfile -t variables < <(env | grep -E '^(RUY_LIKE|GTEST)_' || true)
  printf -v command '%q ' ${variables[@]+"${variables[@]}"} "${program[@]}"
  printf '%s\t%s\n' "$(basename "${program[0]}")" "$command" >"$list"
  exec bash test/bochs.sh "$folder" "$list"
fi

build=build/avx512
# The emulator is slow: tests optimised.
cmake --preset release -B "$build" -DRUY_LIKE_TEST_OPTIONS=-O1 \
  -DRUY_LIKE_COMPILE_PATHS="$(IFS=';'; echo "${paths[*]}")" \
  -DRUY_LIKE_BUILD_BENCHMARKS=OFF -DRUY_LIKE_BUILD_EXAMPLES=OFF >/dev/null
targets=(ruy_like_tests)
if [ -z "$regex" ]; then
  targets=("${by_path[@]}" "${others[@]}")
  regex="^(($(IFS='|'; echo "${by_path[*]}"))\\.($(IFS='|'; echo "${paths[*]}"))"
  regex+="|$(IFS='|'; echo "${others[*]}"))\$"
fi
cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"

# CTest tells the commands: "  <n>: Test command: ..." and then "Test #<n>: <name>".
ctest --test-dir "$build" --show-only --verbose --tests-regex "$regex" |
  sed -n -e 's/^[0-9]*: Test command: //p' -e 's/^ *Test  *#[0-9]*: //p' |
  while read -r command && read -r name; do
    printf '%s\tRUY_LIKE_REQUIRE_PATHS=%s %s --gtest_brief=1\n' \
      "$name" "$required" "$command"
  done >"$list"
[ -s "$list" ] || { echo "$0: no test is called $regex" >&2; exit 1; }
BOCHS_FILES="$PWD/test/products.txt" exec bash test/bochs.sh "$folder" "$list"
