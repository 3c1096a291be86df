#!/usr/bin/env bash
# third_party/sources.sh <folder>
#
# Puts the source of Abseil, as Debian's source package has it, into
# <folder>/abseil: for systems that no package of Debian's is built for. What it
# downloads stays in ~/.cache/ruy_like (XDG_CACHE_HOME) for other checkouts, which
# then need no network. Needs apt-get and dpkg-source (package dpkg-dev), but no
# root; the system's own lists of packages stay as they are.
set -euo pipefail

[ $# = 1 ] || { echo "usage: $0 <folder>" >&2; exit 2; }
mkdir -p "$1"
cd "$1"

# Debian links libatomic, which 64-bit x86 does not need and WebAssembly lacks.
leave_out_libatomic() {
  local file=abseil/absl/copts/AbseilConfigureCopts.cmake
  ! grep -q -e -latomic "$file" ||
    sed -i '/^list(APPEND ABSL_DEFAULT_LINKOPTS/,/^)/{/-latomic/d}' "$file"
}
if [ -e abseil/CMakeLists.txt ]; then
  leave_out_libatomic
  exit 0
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ruy_like

# Puts the newest source package into $cache/abseil.
download() {
  echo "Downloading the source of Abseil into $cache"
  local lists file options
  lists=$(mktemp -d)
  mkdir -p "$lists/state/partial" "$lists/parts"
  # The system's sources of packages, with source packages switched on.
  {
    cat /etc/apt/sources.list 2>/dev/null || true
    cat /etc/apt/sources.list.d/*.list 2>/dev/null || true
  } | sed -n 's/^deb /deb-src /p' >"$lists/sources.list"
  for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -e "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" \
      >"$lists/parts/$(basename "$file")"
  done
  options=(-qq -o Dir::Etc::sourcelist="$lists/sources.list"
           -o Dir::Etc::sourceparts="$lists/parts" -o Dir::State::lists="$lists/state"
           -o APT::Sandbox::User=root)
  # Other sources than Debian's may have no source packages.
  apt-get "${options[@]}" update 2>/dev/null || true
  rm -rf "$cache/abseil.new"
  mkdir -p "$cache/abseil.new"
  (cd "$cache/abseil.new" && apt-get "${options[@]}" source --download-only abseil)
  mv "$cache/abseil.new" "$cache/abseil"
  rm -rf "$lists"
}

[ -d "$cache/abseil" ] || download
rm -rf abseil.new
dpkg-source --no-check -x "$cache"/abseil/abseil_*.dsc abseil.new >/dev/null
mv abseil.new abseil
leave_out_libatomic
