#!/usr/bin/env bash
# Installs what is missing, builds the example and runs it: trains a network and
# quantizes it in several ways. From any directory; arguments go to the program
# (--help lists them). stdout is the program's alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

bash cmake/build.sh example ruy_like_digits >&2
exec build/release/example/quantize/ruy_like_digits \
  --data=example/quantize/digits.txt "$@"
