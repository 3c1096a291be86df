#!/usr/bin/env bash
# Prints a header with its comments as Doxygen reads them: "//" before a
# declaration becomes "///", behind one "///<". The comment that opens the file
# is about the file.
set -euo pipefail

sed -E \
  -e '1s|^// |/// \\file\n/// |' \
  -e 's|^( *)//( .*)?$|\1///\2|' \
  -e 's|^([^/"]*[^/" ][^/"]*)//( .*)$|\1///<\2|' \
  "$1"
