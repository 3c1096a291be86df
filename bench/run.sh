#!/usr/bin/env bash
# Installs what is missing, builds the benchmarks, does a short sweep and leaves
# JSON, a table and plots in out/bench (or in the directory given). From any
# directory. For figures worth keeping: an idle machine, and the full sweep that
# `mul_bench --help` explains.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "${BASH_SOURCE[0]}")/../out/bench}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash cmake/build.sh bench ruy_like_benchmarks
mkdir -p "$out"
# A run is worth comparing only with peaks measured on the same machine in the
# same state, hence right before it.
build/release/bench/peak --benchmark_out="$out/peak.json" \
  --benchmark_out_format=json
build/release/bench/mul_bench --benchmark_min_time=0.05 \
  --benchmark_out="$out/mul_bench.json" --benchmark_out_format=json |
  tee "$out/mul_bench.txt"
python3 bench/plot.py --peak "$out/peak.json" --out "$out" \
  "$out/mul_bench.json"
echo "JSON, table and plots: $out"
