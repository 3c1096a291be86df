#!/usr/bin/env bash
# Builds the C library and the example in C, int8_gemm.c, and runs it: prints the rows
# "4 5" and "10 11". From any directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

bash cmake/build.sh example ruy_like_int8_gemm >&2
exec build/release/example/ruy_like_int8_gemm
