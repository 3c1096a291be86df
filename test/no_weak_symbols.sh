#!/usr/bin/env bash
# Fails if an object file of the back-end has a weak symbol: built with flags of
# one instruction set, it could be picked up by the rest of the program.
#
#   no_weak_symbols.sh <object>...
#
# The environment variable NM names the nm for these objects, if it is not the
# host's.
#
# Only objects in a directory kernels/ or pack/ are looked at; there must be
# some.
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
  # references, which offer nobody anything.) DW.ref.* are gcc's pointers to the
  # unwinder's routines, no code and the same in every file.
  symbols=$("${NM:-nm}" -C "$object")
  weak=$(grep -E '^[0-9a-f]+ [WVu] ' <<<"$symbols" |
    grep -v ' DW\.ref\.' || true)
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
