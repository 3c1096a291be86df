#!/usr/bin/env bash
# Fails if an object file of the back-end has a weak symbol: built with flags of
# one instruction set, it could be picked up by the rest of the program.
#
#   no_weak_symbols.sh <object>...
#
# Of the objects, those in a directory kernels/ or pack/ are looked at; there
# must be some.
set -euo pipefail

checked=0
failed=0
for object in "$@"; do
  case "$object" in
    */kernels/* | */pack/*) ;;
    *) continue ;;
  esac
  checked=$((checked + 1))
  # W, V: weak, defined; u: unique in the whole program. (w and v are undefined
  # references, which offer nobody anything.)
  weak=$(nm -C "$object" | grep -E '^[0-9a-f]+ [WVu] ' || true)
  if [[ -n "$weak" ]]; then
    echo "$object has weak symbols:" >&2
    echo "$weak" >&2
    failed=1
  fi
done
if [[ "$checked" == 0 ]]; then
  echo "no object file of kernels/ or pack/ among $# files" >&2
  exit 1
fi
echo "looked at $checked object files"
exit "$failed"
