#!/usr/bin/env bash
# Measures what RESULTS.md has of a machine, some ten minutes:
#
#   bench/measure.sh DIR "AMD EPYC, Zen 4 (family 25 model 17)" [COMMAND...]
#
# The second argument names the processor, more exactly than Linux does. DIR, for
# instance bench/results/zen4, gets JSON and pictures; then the pages' tables are
# written anew from it. COMMAND is what each program, of less than a minute, runs
# under: one that waits until the machine is idle, or that binds to cores.
#
# The programs must be built (bench/run.sh does), with the peers that are to be
# compared (third_party/install.sh peers).
set -euo pipefail
if [ $# -lt 2 ]; then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
fi
out=$(realpath -m "$1") cpu=$2
prefix=("${@:3}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=build/release/bench
commit=$(git rev-parse --short HEAD)
raw=$(mktemp -d)
trap 'rm -r "$raw"' EXIT

# run <name> <program> <flag>...
run() {
  echo "$1, at $SECONDS s"
  "${prefix[@]}" "$bin/$2" "${@:3}" >/dev/null
}

# mul_bench <types> <path> <threads>
mul_bench() {
  run "mul_bench $*" mul_bench --shapes=design8,deep --types="$1" --paths="$2" \
    --threads="$3" --cached=both --benchmark_min_time=0.02 \
    --benchmark_repetitions=5 --benchmark_report_aggregates_only=true \
    --benchmark_out="$raw/$1_$2_$3.json" --benchmark_out_format=json
}

# compare <types> <list of shapes> <cached> <threads>
compare() {
  run "compare $*" compare --types="$1" --shapes="$2" --cached="$3" \
    --threads="$4" --peers=onednn,openblas,eigen --rounds=7 \
    --json="$raw/compare_$1_$2_$3_$4.json"
}

run peak peak --threads=1,2 --json="$raw/peak.json"
for types in s8 f32; do
  # Best first.
  paths=$("$bin/mul_bench" --shapes=small --types="$types" --cached=yes \
    --benchmark_filter=/17x19x23 --benchmark_list_tests | cut -d / -f 2 |
    grep -v portable)
  for path in $paths; do mul_bench "$types" "$path" 1; done
  mul_bench "$types" "${paths%%$'\n'*}" 2
done
for threads in 1 2; do
  for types in s8 f32; do
    for cached in yes no; do compare "$types" design8 "$cached" "$threads"; done
  done
done
for types in s8 f32; do compare "$types" small both 1; done

python3 bench/condense.py --out "$out" --cpu "$cpu" --commit "$commit" "$raw"/*.json
# The system's python is the one that its package of matplotlib belongs to.
python=python3
"$python" -c 'import matplotlib' 2>/dev/null || python=/usr/bin/python3
"$python" bench/plot.py --out "$out" "$out"/*.json
python3 bench/tables.py README.md bench/RESULTS.md
