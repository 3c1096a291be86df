#!/usr/bin/env bash
# Tests that bench/record/index.html shows every recorded call: its data are those of the
# records, and Chromium, where there is one, draws a row and a line of each. From any
# directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
page=bench/record/index.html
before=$(sha256sum "$page")
python3 -B bench/record.py page
[ "$(sha256sum "$page")" = "$before" ] || {
  echo "$page was not made of the records and page.html: it is now" >&2
  exit 1
}
! grep -nE 'https?://' "$page" | grep -v www.w3.org || {
  echo "$page names another address" >&2
  exit 1
}
calls=$(python3 -B -c '
import sys
sys.path.insert(0, "bench")
import record
entries = map(record.read, record.TARGETS)
last = [recorded[-1] for recorded in entries if recorded]
compared = [entry for entry in record.read("x86") if "ratios" in entry][-1:]
print(sum(len(entry["calls"]) for entry in last) +
      sum(len(entry["ratios"]["calls"]) for entry in compared))')
if ! command -v chromium >/dev/null; then
  echo "SKIPPED: no Chromium here to draw the $calls calls in (third_party/install.sh chromium)"
  exit
fi
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
dom=$(timeout 120 chromium --headless --no-sandbox --disable-gpu \
  --user-data-dir="$profile" --dump-dom "file://$PWD/$page" 2>"$profile/log") || {
  cat "$profile/log" >&2
  echo "Chromium did not draw $page" >&2
  exit 1
}
rows=$(grep -o '<tr class="call">' <<<"$dom" | wc -l)
lines=$(grep -o '<polyline points="[0-9]' <<<"$dom" | wc -l)
echo "$rows rows and $lines lines of $calls calls"
[ "$rows" = "$calls" ] && [ "$lines" = "$calls" ]
