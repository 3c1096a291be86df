#!/usr/bin/env bash
# third_party/other_system.sh <word of install.sh>
#
# Brings what building for another operating system needs: the packages of
# install.sh's word, and Abseil's source in build/sources. Exit code 77 where they
# are missing and cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# = 1 ] || { echo "usage: $0 <word of install.sh>" >&2; exit 2; }
if ! bash third_party/install.sh "$1" ||
    ! bash third_party/sources.sh build/sources; then
  echo "SKIPPED: no compiler or libraries for $1 here" >&2
  exit 77
fi
