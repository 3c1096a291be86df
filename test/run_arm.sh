#!/usr/bin/env bash
# Builds the tests for 64-bit Arm and runs them under an emulator, as three
# processors: with NEON alone, with dot products, with 8-bit matrix
# multiplication too. From any directory.
#
#   test/run_arm.sh [--all] [--clang] [<ctest option>...]
#
# Of the tests that belong to paths, each processor runs those of its best path;
# with the last one come the tests that look at all paths. --all runs the whole
# suite on each, which takes about an hour.
#
# What the emulated programs can not do is left out: to start other programs (a
# kernel would need to be told of the emulator), and to measure time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=arm64
all=
while [ $# -gt 0 ]; do
  case "$1" in
    --all) all=yes ;;
    --clang) preset=arm64-clang ;;
    *) break ;;
  esac
  shift
done

words=(arm)
[ "$preset" = arm64 ] || words+=(clang)
bash third_party/install.sh "${words[@]}"
cmake --preset "$preset" -DRUY_LIKE_BUILD_TESTS=ON -DRUY_LIKE_BUILD_BENCHMARKS=OFF
cmake --build --preset "$preset" --parallel "$(nproc)" --target ruy_like_tests

# Tests that start programs or build projects.
unfit='^(trace_test|verbose_test|info_test|examples_test|executor_example\..*'
unfit+='|dropin_sample_test|dropin_consumer_.*)$'

# run <processor> <paths> <ctest option>...
run() {
  echo "===== $1: $2"
  QEMU_CPU=$1 RUY_LIKE_REQUIRE_PATHS=$2 \
    ctest --preset "$preset" --parallel "$(nproc)" --exclude-regex "$unfit" \
    "${@:3}"
}

quick() { if [ -z "$all" ]; then echo "$@"; fi; }
# shellcheck disable=SC2046
{
  run cortex-a53 neon $(quick --label-regex '^neon$') "$@"
  run cortex-a76 neon,neondot $(quick --label-regex '^neondot$') "$@"
  run max,sve=off neon,neondot,neoni8mm \
    $(quick --label-regex '^neoni8mm$') "$@"
}
if [ -z "$all" ]; then
  run max,sve=off neon,neondot,neoni8mm --tests-regex \
    '^(cpu_features_test|path_test|registry_test|pack_test|products_test|no_weak_symbols.*)$' \
    "$@"
fi
