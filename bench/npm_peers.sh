#!/usr/bin/env bash
# Compares with ONNX Runtime and ggml, whose newest binaries are in npm packages:
#
#   bench/npm_peers.sh [DIR [COMMAND...]]
#
# Installs what is missing (third_party/install.sh peers npm_peers), builds compare, and
# leaves compare_npm.json, compare_narrow.json, compare_low_bits.json and, per types, a
# picture in DIR, out/bench/npm by default.
# Where a result of ONNX Runtime differs, as it does without VNNI, whose sums saturate,
# the line says "differs: saturates", and the time is that with weights of 7 bits.
# COMMAND is what each measurement runs under (bench/measure.sh). Some ten
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
bash third_party/install.sh peers npm_peers ||
  skip "third_party/install.sh peers npm_peers has failed"

bash cmake/build.sh bench compare
modules=build/npm_peers/node_modules
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mkdir -p "$out"
ggml_dir=$modules/@node-llama-cpp/linux-x64/bins/linux-x64

# measure <types> <list>...
measure() {
  local types=$1 lists=("${@:2}") json=$work/ours.json
  local files=("${lists[@]/#/bench/shapes/}")
  "${prefix[@]}" build/release/bench/compare --types="$types" --cached=yes \
    --shapes="$(IFS=,; echo "${lists[*]}")" --peers=ggml,onednn --rounds=7 \
    --json="$json" --ggml_dir="$ggml_dir"
  # The other types ONNX Runtime does not have on a processor, or (2 bits in groups of
  # 256) at 0.6 GOP/s.
  if [[ " s8 s8u8 f32 s4g32 s4g128 s8g32 s2g64 " = *" $types "* ]]; then
    # The system's python is the one that its packages belong to.
    /usr/bin/python3 bench/peers/onnx_models.py --out "$work/$types" \
      --types "$types" "${files[@]/%/.txt}"
    "${prefix[@]}" node bench/peers/onnxruntime.js "$modules" "$work/$types" \
      "$json" "$work/$types.json"
    rm -r "${work:?}/$types"
  else
    mv "$json" "$work/$types.json"
  fi
}

# collect <file> <types>...
collect() {
  local files=("${@:2}")
  files=("${files[@]/#/$work/}")
  python3 bench/condense.py --out "$work/all" \
    --compared_at "$(git rev-parse --short HEAD)" "${files[@]/%/.json}"
  cp "$work/all/compare_1threads.json" "$out/$1.json"
}

for types in s8 s8u8 f32; do measure "$types" design8; done
collect compare_npm s8 s8u8 f32
narrow=(s4g32 s4g128 s8g32 bf16 bf16f32 f16f32 s8 f32)
for types in "${narrow[@]}"; do measure "$types" llm_decode deep design8; done
collect compare_narrow "${narrow[@]}"
low_bits=(s4g32 s4g128 s8g32 s2g64 s2g256 iq4nl mxfp4 nvfp4)
for types in "${low_bits[@]}"; do measure "$types" low_bits; done
collect compare_low_bits "${low_bits[@]}"
/usr/bin/python3 bench/plot.py --out "$out" "$out"/*.json
