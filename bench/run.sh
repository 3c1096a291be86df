#!/usr/bin/env bash
# Installs what is missing, builds the benchmarks, does a sweep of some two
# minutes and leaves JSON, text and plots in out/bench (or in the directory given).
# From any directory. For figures worth keeping: an idle machine, and measure.sh.
#
# Other libraries are compared with if they were there when this was first built:
# `third_party/install.sh peers` before it.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "${BASH_SOURCE[0]}")/../out/bench}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash cmake/build.sh bench ruy_like_benchmarks
bin=build/release/bench
mkdir -p "$out"
threads=1
[ "$(nproc)" = 1 ] || threads=1,$(nproc)

"$bin/peak" --threads="$threads" --json="$out/peak.json" |
  tee "$out/peak.txt"
"$bin/mul_bench" --shapes=quick --types=s8,s8s16,f32 --threads="$threads" \
  --benchmark_min_time=0.02 --benchmark_out="$out/mul_bench.json" \
  --benchmark_out_format=json | tee "$out/mul_bench.txt"
results=("$out/peak.json" "$out/mul_bench.json")
rm -f "$out/compare.json"
"$bin/compare" --shapes=quick --rounds=7 --json="$out/compare.json" |
  tee "$out/compare.txt"
# Not written where there are no peers.
[ ! -e "$out/compare.json" ] || results+=("$out/compare.json")

# The system's python is the one that its package of matplotlib belongs to.
python=python3
"$python" -c 'import matplotlib' 2>/dev/null || python=/usr/bin/python3
"$python" bench/plot.py --out "$out" "${results[@]}"
echo "JSON, text and plots: $out"
