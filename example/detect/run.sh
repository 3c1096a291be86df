#!/usr/bin/env bash
# Finds faces on photographs with two networks from npm, in float and in int8, and
# compares the boxes with each other and with the package's own:
#
#   bash example/detect/run.sh                builds the example first
#   bash example/detect/run.sh --program ... --cache ...   one that is built
#
# Fetches the package and the photographs into the cache (build/detect), once.
# Leaves there boxes.txt and boxes.png. Exits with 77, and says why, where npm,
# apt-get or Python's PIL is missing, or nothing can be fetched.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
package=@vladmandic/face-api@1.7.15

program=
cache=$root/build/detect
while [ $# -gt 0 ]; do
  case "$1" in
    --program) program=$2 ;;
    --cache) cache=$2 ;;
    *)
      echo "usage: $0 [--program <detect>] [--cache <folder>]" >&2
      exit 2
      ;;
  esac
  shift 2
done

skip() {
  printf '\n*** SKIPPED: example/detect: %s ***\n\n' "$*" >&2
  exit 77
}

mkdir -p "$cache"
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import PIL' 2>/dev/null; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || skip "Python's PIL is missing (third_party/install.sh detect)"
if [ ! -f "$cache/package/model/ssd_mobilenetv1_model.bin" ]; then
  command -v npm >/dev/null || skip 'npm is missing (third_party/install.sh detect)'
  (cd "$cache" && npm pack --silent "$package" >/dev/null &&
    tar xzf vladmandic-face-api-*.tgz) || skip "npm does not fetch $package"
fi
if [ ! "$cache/photos/done" -nt "$here/photos.py" ]; then
  command -v apt-get >/dev/null || skip 'the photographs come with apt-get'
  "$python" "$here/photos.py" "$cache/debian" "$cache/photos" >&2 ||
    skip 'the photographs are not to be fetched'
  touch "$cache/photos/done"
fi

if [ -z "$program" ]; then
  bash "$root/cmake/build.sh" example ruy_like_detect >&2
  program=$root/build/release/example/detect/ruy_like_detect
fi
status=0
"$program" "$cache/package" "$here/reference.txt" "$cache/boxes.txt" \
  "$cache"/photos/*.ppm || status=$?
"$python" "$here/draw.py" "$cache/photos" "$cache/boxes.txt" "$cache/boxes.png"
echo "boxes of float and of int8: green and red (tiny_face_detector)," \
  "cyan and orange (ssd_mobilenetv1): $cache/boxes.png"
exit $status
