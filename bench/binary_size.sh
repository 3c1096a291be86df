#!/usr/bin/env bash
# What the library takes in a binary, stripped: for each path and for the rest
# of a static library, and a shared library in all. A Markdown table on stdout.
#
#   bench/binary_size.sh [<compiler>]
#
# Builds both kinds under build/size-*, without debug information, as a package
# would. Sizes are code and data (`size`), in KiB; of the shared library also
# the file's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compiler=${1:-c++}
for kind in static shared; do
  shared=OFF
  [ "$kind" = static ] || shared=ON
  cmake -G Ninja -S . -B "build/size-$kind" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" -DBUILD_SHARED_LIBS=$shared \
    -DRUY_LIKE_BUILD_TESTS=OFF -DRUY_LIKE_BUILD_BENCHMARKS=OFF \
    -DRUY_LIKE_BUILD_EXAMPLES=OFF >/dev/null
  cmake --build "build/size-$kind" --parallel "$(nproc)" --target ruy_like \
    >/dev/null
done
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
  kernels=$(bytes_of "$objects/kernels/$path.cc.o")
  total=$((total + kernels))
  packing_kib=
  if [ -e "$objects/pack/$path.cc.o" ]; then
    packing=$(bytes_of "$objects/pack/$path.cc.o")
    total=$((total + packing))
    packing_kib=$(kib "$packing")
  fi
  echo "| \`$path\` | $(kib "$kernels") | ${packing_kib:+$packing_kib }|"
done
rest=$(bytes_of "$objects"/*.cc.o)
echo "| all else | $(kib "$rest") | |"
echo "| static library, all of it | $(kib $((total + rest))) | |"
library=build/size-shared/libruy_like.so
strip --strip-unneeded -o "$work/library" "$library"
file_bytes=$(wc -c <"$work/library")
echo "| shared library ($(kib "$file_bytes") KiB as a file) |" \
  "$(kib "$(bytes_of "$library")") | |"
echo
echo "$("$compiler" --version | head -n 1), -O3"
