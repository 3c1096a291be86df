#!/usr/bin/env bash
# third_party/sources.sh <folder>
#
# Puts the source of Abseil, as Debian's source package has it, into
# <folder>/abseil: for systems that no package of Debian's is built for. Does
# nothing, without network, when it is there. Needs apt-get and dpkg-source
# (package dpkg-dev), but no root; the system's own lists of packages stay as they
# are.
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
echo "Fetching the source of Abseil into $1"

lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT
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
rm -rf abseil.new && mkdir abseil.new
(cd abseil.new && apt-get "${options[@]}" source abseil >/dev/null)
mv abseil.new/abseil-*/ abseil
rm -rf abseil.new
leave_out_libatomic
