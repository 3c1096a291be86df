#!/usr/bin/env bash
# Installs what is missing, builds all tests and runs them. From any directory;
# arguments go to ctest: test/run.sh -L '^avx2$'.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash cmake/build.sh test ruy_like_tests
exec ctest --preset release --parallel "$(nproc)" \
  --output-junit Testing/results.xml "$@"
