#!/usr/bin/env bash
# Fails if a shared library of ours exports what is not in ruy_like, or not what
# it should.
#
#   exported_symbols.sh <library.so> "<hidden name>..." "<public name>..."
set -euo pipefail

library=$1 hidden_names=$2 public_names=$3
symbols=$(nm -D --defined-only --demangle "$library" |
  sed -E 's/^[0-9a-f]+ [A-Za-z] //')
# A template's instance begins with its return type; none of ours is exported.
foreign=$(grep -vE '^ruy_like::' <<<"$symbols" || true)
if [[ -n "$foreign" ]]; then
  echo "$library exports what is not in ruy_like:" >&2
  echo "$foreign" >&2
  exit 1
fi
# Internal layers must not be there, public ones must.
for hidden in $hidden_names; do
  if grep -qF "ruy_like::$hidden" <<<"$symbols"; then
    echo "$library exports ruy_like::$hidden" >&2
    exit 1
  fi
done
for public in $public_names; do
  if ! grep -qF "ruy_like::$public" <<<"$symbols"; then
    echo "$library does not export ruy_like::$public" >&2
    exit 1
  fi
done
echo "$library exports $(wc -l <<<"$symbols") symbols, all its own"
