#!/usr/bin/env bash
# Builds tests of the paths avx512 and avx512vnni and runs them in Bochs, an emulator
# that has these instructions, on any x86-64 machine. From any directory.
#
#   test/run_avx512.sh [--avxvnni] --short   a few tests of the kernels and of packing
#   test/run_avx512.sh [--avxvnni]           more of them, and products
#   test/run_avx512.sh [--avxvnni] --run <program> [<argument>...]
#                                any program, built by the caller: with the caller's
#                                variables RUY_LIKE_* and GTEST_*
#
# --avxvnni: of the path avxvnni, in Debian 13's Bochs, which has these instructions too;
# it is unpacked into build/bochs3 with that release's C library, and not installed.
#
# One kernel's tests: test/run_avx512.sh --run build/release/test/panel_kernel_test
# --gtest_filter='*/avx512vnni_*S8S8*'.
#
# Bochs executes some 30 million instructions a second (test/bochs.sh): what takes a
# second elsewhere takes a minute or two there, and the boot more than half a minute.
# On a machine with AVX-512 test/run.sh is better. Of most test programs only every
# n-th test runs, GoogleTest's shard of index 0; SHARD=<i> takes another.
#
# Debian 12's Bochs does not know the instructions of the path avx512bf16. A path that is
# not found in the emulated machine is a failure. And its VCVTPS2PH rounds ties up
# instead of to even, at every width: tests of float16 results fail there, among them
# some of the kernels whose names have `_f32_`, which are left out. The exit code is 77
# where there is no Bochs.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Those compiled, and those whose tests run.
paths=(avx512 avx512vnni) tested=("${paths[@]}")
word=avx512 feature=avx512_vnni packs=Avx512 bochs3=()
if [ "${1:-}" = --avxvnni ]; then
  shift
  paths=(avx2 avxvnni) tested=(avxvnni)
  word=avxvnni feature=avx_vnni packs=Avx2 bochs3=("$PWD/build/bochs3")
fi
# <test program>:<n>[ <suite>.<test>...], each path's tests by themselves. n is a prime:
# tests are numbered kernel by kernel within a suite, and a multiple of the number of
# kernels would choose the same kernel in each suite.
by_path=(float_mul_test:1 narrow_kernel_test:13 panel_kernel_test:23
         small_stack_test:3 extreme_values_test:5
         mul_epilogue_test:11 scaled_output_test:5 accumulate_test:5
         group_weights_test:5 packed_matrix_test:5 mul_test:11)
# <test program>:<n>[ <argument>...], for what has both paths at once.
others=(cpu_features_test:1 path_test:1 "pack_test:11 --gtest_filter=*$packs*"
        "random_test:1 --num_problems=60")
program=()
case "${1:-}" in
  '') ;;
  --short)
    # The suites that take least.
    by_path=(float_mul_test:1 narrow_kernel_test:23
             "panel_kernel_test:1 PanelKernelTest.ManyRows \
              IntPanelKernelTest.PacksExactly IntPanelKernelTest.RawIntegersWrap")
    others=(cpu_features_test:1 "pack_test:7 --gtest_filter=*/PackTest.Deep/Pack$packs*"
            "random_test:1 --num_problems=6")
    ;;
  --run) program=("$(cd "$caller" && realpath "${2:?}")" "${@:3}") ;;
  *)
    echo "usage: $0 [--avxvnni] [--short | --run <program> [<argument>...]]" >&2
    exit 2
    ;;
esac

if [ "$(uname -m)" != x86_64 ] || ! bash third_party/install.sh test "$word"; then
  echo "SKIPPED: no Bochs here" >&2
  exit 77
fi
if grep -qw "$feature" /proc/cpuinfo; then
  echo "This machine has these instructions itself: test/run.sh is faster"
fi

folder=$PWD/build/bochs
list=$folder/list

if [ ${#program[@]} -gt 0 ]; then
  mapfile -t variables < <(env | grep -E '^(RUY_LIKE|GTEST)_' || true)
  printf -v command '%q ' ${variables[@]+"${variables[@]}"} "${program[@]}"
  printf '%s\t%s\n' "$(basename "${program[0]}")" "$command" >"$list"
  exec bash test/bochs.sh "$folder" "$list" "${bochs3[@]}"
fi

# The emulator is slow: tests optimised.
build=$PWD/build/$word
cmake --preset release -B "$build" -DRUY_LIKE_TEST_OPTIONS=-O1 \
  -DRUY_LIKE_COMPILE_PATHS="$(IFS=';'; echo "${paths[*]}")" \
  -DRUY_LIKE_BUILD_BENCHMARKS=OFF -DRUY_LIKE_BUILD_EXAMPLES=OFF >/dev/null
targets=()
for test in "${by_path[@]}" "${others[@]}"; do targets+=("${test%%:*}"); done
cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"

# add <name> <test program>:<n> <argument>...: a line of the list.
add() {
  local shards=${2#*:}
  printf '%s\tRUY_LIKE_REQUIRE_PATHS=%s GTEST_TOTAL_SHARDS=%s GTEST_SHARD_INDEX=%s' \
    "$1" "$(IFS=,; echo "${paths[*]}")" "$shards" $((${SHARD:-0} % shards))
  printf ' %q' "$build/test/${2%:*}" "${@:3}" --gtest_brief=1
  echo
}
{
  for test in "${others[@]}"; do
    read -ra words <<<"$test"
    add "${words[0]%:*}" "${words[@]}"
  done
  for test in "${by_path[@]}"; do
    read -ra words <<<"$test"
    for path in "${tested[@]}"; do
      # --path= replaces a filter but for what it excludes.
      arguments=("--path=$path" "--gtest_filter=-*_f32_*")
      if [ ${#words[@]} -gt 1 ]; then
        arguments=("--gtest_filter=$(printf "*/%s/${path}_*:" "${words[@]:1}")-*_f32_*")
      fi
      add "${words[0]%:*}.$path" "${words[0]}" "${arguments[@]}"
    done
  done
} >"$list"

# GoogleTest takes it for a success that a filter leaves no test.
printed=$folder/printed
bash test/bochs.sh "$folder" "$list" "${bochs3[@]}" | tee "$printed"
if grep -F 'PASSED  ] 0 tests' "$printed" >/dev/null; then
  echo "$0: a program above ran no test" >&2
  exit 1
fi
