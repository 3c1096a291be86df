#!/usr/bin/env bash
# cmake/build.sh example|test|bench <target>...
#
# What the three run.sh scripts have in common: installs that part's
# dependencies, configures build/release with that part (and those that an
# earlier call asked for, so that the scripts do not undo each other's work) and
# builds the targets.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

part=$1
shift
cache=build/release/CMakeCache.txt
options=()
if [ ! -e "$cache" ]; then
  # A part's dependencies may be missing until that part is asked for.
  options+=(-DRUY_LIKE_BUILD_TESTS=OFF -DRUY_LIKE_BUILD_BENCHMARKS=OFF)
  # Examples use this machine's kernels alone, which compile in a half to nine tenths
  # of the time.
  [ "$part" != example ] || options+=(-DRUY_LIKE_COMPILE_PATHS=native)
elif [ "$part" != example ] && grep -q '^RUY_LIKE_COMPILE_PATHS:.*=native$' "$cache"; then
  options+=(-DRUY_LIKE_COMPILE_PATHS=)
fi
case "$part" in
  example) bash third_party/install.sh ;;
  test)
    bash third_party/install.sh test
    options+=(-DRUY_LIKE_BUILD_TESTS=ON)
    # 190 programs, for which ld takes three times as long as lld, twice as gold.
    if [ -n "${LDFLAGS:-}" ]; then
      :  # asks for a linker, perhaps
    elif command -v ld.lld >/dev/null; then
      options+=(-DCMAKE_EXE_LINKER_FLAGS='-fuse-ld=lld -Wl,--threads=1')
    elif command -v ld.gold >/dev/null; then
      options+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold)
    fi
    ;;
  bench)
    bash third_party/install.sh bench
    options+=(-DRUY_LIKE_BUILD_BENCHMARKS=ON)
    ;;
esac
cmake --preset release "${options[@]}"
cmake --build --preset release --parallel "$(nproc)" --target "$@"
