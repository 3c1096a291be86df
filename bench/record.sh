#!/usr/bin/env bash
# Counts the instructions of a fixed set of calls and appends them to
# bench/record/<target>.json, or compares them with what is there. From any directory.
#
#   bench/record.sh           appends, and makes the page bench/record/index.html
#   bench/record.sh --check   fails where a call takes over 1% more than recorded
#                             (record.py says when it may)
#   ... arm64|riscv64         the same of calls on these processors, counted in qemu
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command=append target=x86 preset=release
for word in "$@"; do
  case "$word" in
    --check) command=check ;;
    arm64 | riscv64) target=$word preset=$word ;;
    *) echo "usage: $0 [--check] [arm64|riscv64]" >&2; exit 2 ;;
  esac
done
if [ "$target" = x86 ]; then
  bash third_party/install.sh test bench
else
  bash third_party/other_system.sh "${target%64}"
  bash third_party/install.sh arm_bench
fi
cmake --preset "$preset" -DRUY_LIKE_BUILD_BENCHMARKS=ON >/dev/null
cmake --build --preset "$preset" --parallel "$(nproc)" --target mul_calls
python3 -B bench/record.py "$command" "$target"
