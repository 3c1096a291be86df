#!/usr/bin/env bash
# Installs what is missing, builds the example and runs it. From any directory.
# stdout is the example's alone; the build speaks on stderr.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash cmake/build.sh example ruy_like_example >&2
exec build/release/example/ruy_like_example
