#!/usr/bin/env bash
# Counts the instructions of a fixed set of calls and appends them to
# bench/record/x86.json, or compares them with what is there. From any directory.
#
#   bench/record.sh           appends, and makes the page bench/record/index.html
#   bench/record.sh --check   fails where a call takes over 1% more than recorded
#                             (record.py says when it may)
#   ... --riscv               the same of calls on RISC-V, counted in qemu
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command=append preset=release target=()
for word in "$@"; do
  case "$word" in
    --check) command=check ;;
    --riscv) preset=riscv64 target=(--riscv) ;;
    *) echo "usage: $0 [--check] [--riscv]" >&2; exit 2 ;;
  esac
done
if [ "$preset" = riscv64 ]; then
  bash third_party/other_system.sh riscv
  bash third_party/install.sh arm_bench
else
  bash third_party/install.sh test bench
fi
cmake --preset "$preset" -DRUY_LIKE_BUILD_BENCHMARKS=ON >/dev/null
cmake --build --preset "$preset" --parallel "$(nproc)" --target mul_calls
python3 -B bench/record.py "$command" "${target[@]}"
