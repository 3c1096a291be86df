#!/usr/bin/env bash
# Counts the instructions of a fixed set of calls and appends them to
# bench/record/<target>.json, or compares them with what is there. From any directory.
#
#   bench/record.sh           appends, and makes the page bench/record/index.html
#   bench/record.sh --check   fails where a call takes over 1% more than recorded
#                             (record.py says when it may)
#   ... arm64|riscv64         the same of calls on these processors, counted in qemu
#   ... -- COMMAND...         measures the ratios to other libraries, which x86 has too
#                             where they are installed (third_party/install.sh peers),
#                             under COMMAND: one that waits until the machine is idle
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command=append target=x86 preset=release
while [ $# -gt 0 ]; do
  case "$1" in
    --check) command=check ;;
    arm64 | riscv64) target=$1 preset=$1 ;;
    --) shift; break ;;
    *) echo "usage: $0 [--check] [arm64|riscv64] [-- COMMAND...]" >&2; exit 2 ;;
  esac
  shift
done
programs=(mul_calls)
if [ "$target" = x86 ]; then
  bash third_party/install.sh test bench
  [ "$command" = check ] || programs+=(compare)
else
  bash third_party/other_system.sh "${target%64}"
  bash third_party/install.sh arm_bench
fi
cmake --preset "$preset" -DRUY_LIKE_BUILD_BENCHMARKS=ON >/dev/null
cmake --build --preset "$preset" --parallel "$(nproc)" --target "${programs[@]}"
python3 -B bench/record.py "$command" "$target" "$@"
