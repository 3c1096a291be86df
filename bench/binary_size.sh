#!/usr/bin/env bash
# What the library takes in a binary, stripped: for each path and for the rest
# of a static library, and a shared library in all. A Markdown table on stdout.
#
#   bench/binary_size.sh [<compiler>]
#
# Builds both kinds under build/size-*, without debug information, as a package
# would, and shared libraries with a few paths alone. Sizes are code and data
# (`size`), in KiB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compiler=${1:-c++}

# build <directory> <CMake option>...
build() {
  cmake -G Ninja -S . -B "build/$1" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" \
    -DRUY_LIKE_BUILD_TESTS=OFF -DRUY_LIKE_BUILD_BENCHMARKS=OFF \
    -DRUY_LIKE_BUILD_EXAMPLES=OFF "${@:2}" >/dev/null
  cmake --build "build/$1" --parallel "$(nproc)" --target ruy_like >/dev/null
}
build size-static -DBUILD_SHARED_LIBS=OFF
build size-shared -DBUILD_SHARED_LIBS=ON
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# Bytes of code and data of stripped copies of object files or a library.
bytes_of() {
  local file sum=0 bytes
  for file in "$@"; do
    strip --strip-unneeded -o "$work/stripped" "$file"
    bytes=$(size "$work/stripped" | awk 'NR == 2 { print $1 + $2 }')
    sum=$((sum + bytes))
  done
  echo "$sum"
}
kib() { echo $((($1 + 512) / 1024)); }

objects=build/size-static/CMakeFiles/ruy_like.dir/ruy_like
total=0
echo "| Part | Kernels, KiB | Packing, KiB |"
echo "|---|---:|---:|"
for path in $(sed -nE 's/^RUY_LIKE_PATH\([A-Za-z0-9]+, ([a-z0-9]+),.*/\1/p' \
    build/size-static/generated/ruy_like/compiled_paths.inc); do
  files=("$objects/kernels/$path.cc.o")
  groups=$objects/kernels/groups/$path.cc.o
  [ ! -e "$groups" ] || files+=("$groups")
  kernels=$(bytes_of "${files[@]}")
  total=$((total + kernels))
  packing_kib=
  if [ -e "$objects/pack/$path.cc.o" ]; then
    packing=$(bytes_of "$objects/pack/$path.cc.o")
    total=$((total + packing))
    packing_kib=$(kib "$packing")
  fi
  echo "| \`$path\` | $(kib "$kernels") | ${packing_kib:+$packing_kib }|"
done
mapfile -t other < <(find "$objects" -name '*.cc.o' \
  ! -path '*/kernels/*' ! -path '*/pack/*')
rest=$(bytes_of "${other[@]}")
echo "| all else | $(kib "$rest") | |"
echo "| static library, all of it | $(kib $((total + rest))) | |"
echo "| shared library | $(kib "$(bytes_of build/size-shared/libruy_like.so)") | |"
# With some of the paths alone.
for paths in avx2 "avx2;avx512vnni" portable; do
  build size-some -DBUILD_SHARED_LIBS=ON -DRUY_LIKE_COMPILE_PATHS="$paths"
  echo "| shared library, \`RUY_LIKE_COMPILE_PATHS=$paths\` |" \
    "$(kib "$(bytes_of build/size-some/libruy_like.so)") | |"
done
echo
echo "$("$compiler" --version | head -n 1), -O3"
