#!/usr/bin/env bash
# Compiles the library and the drop-in for systems that are not here, by clang,
# warnings as errors; nothing is linked or run. From any directory.
#
#   test/run_compile_checks.sh [--syntax] [<system>...]
#
# A system is macos-arm64, macos-x86_64, windows-arm64 or windows-x86_64, whose
# headers third_party/install.sh brings, or one of these, whose headers no package
# has: android-arm64=<folder of bionic's source>, freebsd-x86_64=<folder of the
# headers>. Without one: the first four. --syntax makes no code, which is what CI does
# at each change.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

syntax=
if [ "${1:-}" = --syntax ]; then
  syntax=-fsyntax-only
  shift
fi
[ $# -gt 0 ] || set -- macos-arm64 macos-x86_64 windows-arm64 windows-x86_64

bash third_party/other_system.sh headers
headers=$PWD/build/headers
jobs=$(nproc)

# Sets `system`, `target` and `folders`, those of its headers.
describe() {
  local of=${1#*=} processor=${1#*-}
  case "$1" in
    macos-*)
      system=Darwin
      target=$processor-apple-macos13
      folders=("$PWD/test/other_systems/macos14"
               "$headers/libc/include/${processor/arm64/aarch64}-macos.13-none"
               "$headers/libc/include/any-macos.13-any"
               "$headers/libc/include/any-macos-any")
      ;;
    windows-*)
      system=Windows
      target=${processor/arm64/aarch64}-w64-mingw32
      folders=("$headers/libc/include/any-windows-any")
      ;;
    android-arm64=*)  # CMake's Android wants the whole of its development kit.
      system=Linux
      target=aarch64-linux-android24
      folders=("$of/libc/include" "$of/libc/kernel/uapi/asm-arm64"
               "$of/libc/kernel/uapi" "$of/libc/kernel/android/uapi")
      ;;
    freebsd-x86_64=*)
      system=FreeBSD
      target=x86_64-unknown-freebsd
      folders=("$of")
      ;;
    *)
      echo "test/run_compile_checks.sh: unknown system $1" >&2
      exit 2
      ;;
  esac
}

for name in "$@"; do
  echo "===== $name"
  describe "$name"
  dir=build/check-${name%%=*}
  # libc++'s headers lack the file that its installation would have written.
  options="-nostdinc++ -nostdlibinc -D_LIBCPP_ABI_VERSION=1 -D_LIBCPP_ABI_NAMESPACE=__1"
  options+=" -D_LIBCPP_HAS_NO_VENDOR_AVAILABILITY_ANNOTATIONS"
  for folder in "$headers/libcxx/include" "$headers/libcxxabi/include" \
      "${folders[@]}"; do
    options+=" -isystem $folder"
  done
  rm -rf "$dir"
  cmake -G Ninja -S . -B "$dir" \
    -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/other_system.cmake" \
    -DRUY_LIKE_CHECK_SYSTEM="$system" -DRUY_LIKE_CHECK_TARGET="$target" \
    -DRUY_LIKE_CHECK_OPTIONS="$options" \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="$syntax" \
    -DCMAKE_TRY_COMPILE_CONFIGURATION=Release -DRUY_LIKE_KERNEL_OPTIMIZATION=-O1 \
    -DRUY_LIKE_WERROR=ON -DRUY_LIKE_USE_CPUINFO=OFF -DRUY_LIKE_RUY_DROPIN=ON \
    -DRUY_LIKE_QUANTIZE=OFF -DRUY_LIKE_INSTALL=OFF -DRUY_LIKE_BUILD_TESTS=OFF \
    -DRUY_LIKE_BUILD_EXAMPLES=OFF -DRUY_LIKE_BUILD_BENCHMARKS=OFF \
    -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON \
    -DFETCHCONTENT_SOURCE_DIR_ABSL="$PWD/build/sources/abseil" >"$dir.log"
  # Objects of ours alone: Abseil's are not needed for them.
  objects=$(ninja -C "$dir" -t targets all |
    sed -nE 's#^((dropin/)?CMakeFiles/ruy(_like)?\.dir/[^:]*\.o(bj)?): .*#\1#p')
  # shellcheck disable=SC2086
  ninja -C "$dir" -j "$jobs" $objects
done
