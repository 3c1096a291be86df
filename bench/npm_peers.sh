#!/usr/bin/env bash
# Compares with ONNX Runtime and ggml, whose newest binaries are in npm packages:
#
#   bench/npm_peers.sh [DIR [COMMAND...]]
#
# Installs what is missing (third_party/install.sh npm_peers), builds compare, and
# leaves compare_npm.json and, per types, a picture in DIR, out/bench/npm by default.
# COMMAND is what each measurement runs under (bench/measure.sh). Some three
# minutes, one thread. Where npm or its registry is not there, says so and ends
# with 77.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "${BASH_SOURCE[0]}")/../out/bench/npm}")
prefix=("${@:2}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
  printf '\nSKIPPED: bench/npm_peers.sh: %s\n' "$1" >&2
  exit 77
}
[ "$(uname -sm)" = "Linux x86_64" ] || skip "only for Linux on x86-64"
command -v npm >/dev/null || skip "npm is not there"
bash third_party/install.sh npm_peers ||
  skip "third_party/install.sh npm_peers has failed"

bash cmake/build.sh bench compare
modules=build/npm_peers/node_modules
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mkdir -p "$out"
for types in s8 s8u8 f32; do
  # The system's python is the one that its packages belong to.
  /usr/bin/python3 bench/peers/onnx_models.py --out "$work/$types" \
    --types "$types" bench/shapes/design8.txt
  "${prefix[@]}" build/release/bench/compare --types="$types" --cached=yes \
    --shapes=design8 --peers=ggml --rounds=7 --json="$work/ours.json" \
    --ggml_dir="$modules/@node-llama-cpp/linux-x64/bins/linux-x64"
  "${prefix[@]}" node bench/peers/onnxruntime.js "$modules" "$work/$types" \
    "$work/ours.json" "$work/$types.json"
done
python3 bench/condense.py --out "$work/all" "$work"/{s8,s8u8,f32}.json
cp "$work/all/compare_1threads.json" "$out/compare_npm.json"
/usr/bin/python3 bench/plot.py --out "$out" "$out"/*.json
