#!/usr/bin/env bash
# Checks cmake/packaging.
#
#   run.sh <way> <source dir> <work dir>
#
# Ways:
#   versions  the packages, the build and doc/CHANGELOG.md have one version
#   vcpkg     the portfile, with stand-ins for vcpkg's functions (vcpkg.cmake)
#   debian    the documented command; what its packages hold. Exit code 77 where
#             debhelper is not installed
set -euo pipefail

way=$1 source=$2 work=$3
packaging=$source/cmake/packaging
rm -rf "$work"
mkdir -p "$work"

fail() {
  echo "$way: $*" >&2
  exit 1
}

quietly() {
  if ! "$@" >"$work/log" 2>&1; then
    tail -n 100 "$work/log" >&2
    fail "failed: $*"
  fi
}

case "$way" in
  versions)
    version=$(sed -n 's/^project(ruy_like VERSION \([0-9.]*\) .*/\1/p' \
      "$source/CMakeLists.txt")
    [ -n "$version" ] || fail "CMakeLists.txt has no version"
    expect() {
      grep -qE "$1" "$2" || fail "$2 does not have $version"
    }
    expect "\"version\": \"$version\"" "$packaging/vcpkg/ruy-like/vcpkg.json"
    expect "version = \"$version\"" "$packaging/conan/conanfile.py"
    expect "^ruy-like \($version\)" <(head -n 1 "$packaging/debian/changelog")
    expect "^## $version" "$source/doc/CHANGELOG.md"
    expect "^ruy_like +$version$" "$source/doc/observing.md"
    # The soname's package.
    expect "^Package: libruy-like${version%.*}$" "$packaging/debian/control"
    [ -e "$packaging/debian/libruy-like${version%.*}.install" ] ||
      fail "the shared library's package has another name"
    ;;
  vcpkg)
    quietly cmake -DPORT="$packaging/vcpkg/ruy-like" -DWORK="$work" \
      -P "$source/test/packaging/vcpkg.cmake"
    for file in lib/libruy_like.a lib/libruy_like_quantize.a \
        include/ruy_like/ruy_like.h lib/pkgconfig/ruy_like.pc; do
      [ -e "$work/packages/$file" ] || fail "no $file"
    done
    ;;
  debian)
    if ! command -v dh dpkg-buildpackage >/dev/null; then
      echo "skipped: no debhelper"
      exit 77
    fi
    mkdir "$work/source"
    (cd "$source" && tar c --exclude=./build --exclude=./.git .) |
      tar x -C "$work/source"
    cd "$work/source"
    cp -r cmake/packaging/debian debian
    quietly dpkg-buildpackage -b -us -uc
    # expect_in <package> <regular expression>
    expect_in() {
      local contents
      contents=$(dpkg-deb --contents "$work/$1"_[0-9]*.deb)
      grep -qE "$2" <<<"$contents" || fail "$1 holds no $2"
    }
    expect_in 'libruy-like0.2' 'libruy_like_quantize\.so\.[0-9.]+$'
    expect_in libruy-like-c0 'libruy_like_c\.so\.0 -> libruy_like_c\.so\.[0-9.]+$'
    expect_in python3-ruy-like 'dist-packages/ruy_like/_core\.abi3\.so$'
    expect_in libruy-like-dev 'include/ruy_like/c/ruy_like\.h$'
    expect_in libruy-like-dev 'cmake/ruy_like/ruy_like-config\.cmake$'
    expect_in ruy-like-tools 'bin/ruy_like_info$'
    # The package of Python runs as it would be installed.
    if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
      dpkg-deb -x "$work"/python3-ruy-like_[0-9]*.deb "$work/installed"
      PYTHONPATH=$work/installed/usr/lib/python3/dist-packages /usr/bin/python3 -B -c '
import numpy as np, ruy_like as rl
assert rl.mul(np.ones((2, 3), np.int8), np.ones((3, 2), np.int8)).tolist() == [[3, 3], [3, 3]]'
    fi
    ;;
  *) fail "no such way" ;;
esac
