#!/usr/bin/env bash
# Builds the page, opens it in Chromium without a window and prints what it shows;
# fails unless all products were right. Without Chromium it says so and runs the
# program under Node. From any directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash third_party/other_system.sh wasm
cmake --preset wasm >/dev/null
cmake --build --preset wasm --parallel "$(nproc)" --target ruy_like_browser
page=build/wasm/example/browser
cp example/browser/index.html example/browser/worker.js "$page"

if ! command -v chromium >/dev/null; then
  echo "SKIPPED: no Chromium here (third_party/install.sh chromium); under Node:"
  node --no-experimental-fetch "$page/ruy_like_browser.js"
  exit
fi
work=$(mktemp -d)
processes=()
trap 'kill "${processes[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
python3 -u -m http.server --bind 127.0.0.1 --directory "$page" 0 \
  >"$work/port" 2>"$work/requests" &
processes+=($!)
until grep -q port "$work/port"; do sleep 0.1; done
port=$(sed 's/.* port \([0-9]*\) .*/\1/' "$work/port")
chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
  --remote-debugging-port=0 "http://127.0.0.1:$port/#report" >/dev/null 2>&1 &
processes+=($!)
for ((i = 0; i < 120; ++i)); do
  ! grep -q 'line?\(done\|wrong\)' "$work/requests" || break
  sleep 1
done
sed -n 's/.*GET .line?\(.*\) HTTP.*/\1/p' "$work/requests" | sed 's/%20/ /g;s/%2F/\//g;s/%5E/^/g'
grep -q 'line?done' "$work/requests"
