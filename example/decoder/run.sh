#!/usr/bin/env bash
# Installs what is missing, builds the example and runs it: a small language
# model in each format of weights. From any directory; arguments go to the
# program (--help lists them). stdout is the program's alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

bash cmake/build.sh example ruy_like_decoder >&2
exec build/release/example/decoder/ruy_like_decoder \
  --folder=example/decoder "$@"
