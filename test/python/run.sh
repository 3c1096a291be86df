#!/usr/bin/env bash
# Tests of the Python package, as the commands of doc/python.md build it.
#
#   run.sh <way> <python3> <package folder> <source dir> <work dir>
#
# Ways:
#   tests  pytest on the package of the build
#   wheel  makes a wheel of it, below 3 MB, installs that into a fresh virtual
#          environment, and runs pytest there
# Exit code 77, and a line that says so, where a package of Debian's is missing.
set -euo pipefail

way=$1 python=$2 package=$3 source=$4 work=$5
for module in numpy:python3-numpy pytest:python3-pytest; do
  if ! "$python" -c "import ${module%:*}" 2>/dev/null; then
    echo "SKIPPED: no ${module#*:} (bash third_party/install.sh python)"
    exit 77
  fi
done
run_pytest() { "$1" -B -m pytest -q -p no:cacheprovider "$source/test/python"; }

case "$way" in
  tests) PYTHONPATH=$(dirname "$package") run_pytest "$python" ;;
  wheel)
    for module in setuptools:python3-setuptools wheel:python3-wheel \
        ensurepip:python3-venv; do
      if ! "$python" -c "import ${module%:*}" 2>/dev/null; then
        echo "SKIPPED: no ${module#*:} (bash third_party/install.sh python)"
        exit 77
      fi
    done
    rm -rf "$work"
    mkdir -p "$work"
    cp -r "$source/python" "$work/python"
    cp "$source/CMakeLists.txt" "$work"
    (cd "$work/python" && RUY_LIKE_PYTHON_PACKAGE=$package "$python" setup.py -q \
      bdist_wheel --dist-dir "$work/dist" 2>"$work/log") || { cat "$work/log"; exit 1; }
    wheels=("$work"/dist/*.whl)
    [ ${#wheels[@]} = 1 ] || { echo "wheels: ${wheels[*]}"; exit 1; }
    bytes=$(stat -c %s "${wheels[0]}")
    echo "$(basename "${wheels[0]}"): $bytes bytes"
    [[ ${wheels[0]} == *-cp311-abi3-* ]] || { echo "no wheel for abi3"; exit 1; }
    [ "$bytes" -lt 3000000 ] || { echo "too large"; exit 1; }
    # NumPy and pytest are the system's.
    "$python" -m venv --system-site-packages "$work/venv"
    "$work/venv/bin/pip" install -q --no-index --no-deps "${wheels[0]}"
    cd "$work"
    file=$(PYTHONPATH='' "$work/venv/bin/python" -c 'import ruy_like; print(ruy_like.__file__)')
    [[ $file == "$work"/venv/* ]] || { echo "imports $file"; exit 1; }
    run_pytest "$work/venv/bin/python"
    ;;
  *) echo "no such way: $way" >&2; exit 1 ;;
esac
