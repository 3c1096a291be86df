#!/usr/bin/env bash
# test/each_first_allocation.sh <command that runs limited_program>...
#
# limits_test's EachAllocationOfTheFirstProduct where tests start no programs: each
# allocation of a process's first product fails in turn.
set -euo pipefail

n=0
code=0
while [ "$code" = 0 ] && [ "$n" -lt 2000 ]; do
  "$@" allocation "$n" || code=$?
  n=$((n + 1))
done
failed=$((n - 1))
# 3: nothing failed any more.
if [ "$code" != 3 ] || [ "$failed" -le 5 ]; then
  echo "limited_program: exit code $code at allocation $failed" >&2
  exit 1
fi
echo "limited_program: each of $failed allocations failed as it should"
