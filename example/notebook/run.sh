#!/usr/bin/env bash
# Builds the Python package and runs the example: a small language model, quantized
# in Python. From any directory.
#
#   example/notebook/run.sh [<picture.png>]
#
# Exit code 77, and a line that says so, where Python's packages cannot be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

skip() {
  printf '\nSKIPPED: example/notebook: %s\n' "$1" >&2
  exit 77
}
bash third_party/install.sh python bench >&2 ||
  skip "third_party/install.sh python bench has failed"
python=/usr/bin/python3  # that of the distribution's packages
[ -x "$python" ] || python=python3
"$python" -c 'import sys; assert sys.version_info >= (3, 11)' 2>/dev/null ||
  skip "no Python 3.11"
"$python" -c 'import numpy, matplotlib' || skip "no NumPy or no matplotlib"

bash cmake/build.sh example ruy_like >&2
cmake --preset release -DRUY_LIKE_BUILD_PYTHON=ON >&2
cmake --build --preset release --target ruy_like_python >&2 ||
  skip "the Python package is not built (see the configuration above)"
OPENBLAS_NUM_THREADS=1 PYTHONPATH=build/release/python exec "$python" -B \
  example/notebook/quantize_decoder.py "$@"
