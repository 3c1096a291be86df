#!/usr/bin/env bash
# Unpacks the libraries that a cross build needs, from the distribution's
# packages for another architecture, into a folder:
#
#   third_party/sysroot.sh <Debian architecture> <folder> [<release> <package>...]
#
# With a release of Debian's, such as trixie: these packages of that release, and all
# that they need, down to the C library.
#
# The host's packages and its package manager's state stay as they are, so that
# no foreign architecture is added to the host (libcpuinfo-dev of two
# architectures can not even be installed at the same time). Needs no root.
# Does nothing when the folder is complete.
set -euo pipefail

arch=$1
folder=$2
release=${3:-}
# The development packages; those of the shared libraries follow from them.
packages=(libcpuinfo-dev libabsl-dev libhwy-dev libgtest-dev libgmock-dev
          libbenchmark-dev)

if [ -e "$folder/complete" ]; then exit 0; fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
state=$folder/apt
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
# An empty package database: everything counts as not installed.
: >"$state/status"
cat >"$state/apt.conf" <<END
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State "$state";
Dir::State::Lists "$state/lists";
Dir::State::status "$state/status";
Dir::Cache "$state/cache";
END
if [ -n "$release" ]; then
  cat >>"$state/apt.conf" <<END
Dir::Etc::SourceList "$state/sources.list";
Dir::Etc::SourceParts "/dev/null";
END
  # The archive that this system's Debian comes from.
  # shellcheck disable=SC2016
  archive=$(apt-get indextargets --format '$(COMPONENT) $(CREATED_BY) $(REPO_URI)' |
    sed -n '/security/d; s/^main Packages //p' | head -n 1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $release main" \
    >"$state/sources.list"
fi
export APT_CONFIG=$state/apt.conf
# One archive of several may be out of step for a while; whether the packages can
# be had shows below.
apt-get -qq update || echo "third_party/sysroot.sh: some package lists of $arch are missing" >&2

cd "$state/cache/archives"
if [ -n "$release" ]; then
  apt-get -qq -y -o Dpkg::Use-Pty=0 install --download-only "${@:4}" >/dev/null
else
  # What those packages need, apart from what the cross compiler brings.
  wanted=$(apt-cache depends --recurse --no-recommends --no-suggests \
    --no-conflicts --no-breaks --no-replaces --no-enhances "${packages[@]}" |
    grep -E '^(libabsl|libcpuinfo|libhwy|libclog|googletest|libgtest|libgmock|libbenchmark)' |
    sort -u)
  # shellcheck disable=SC2086
  apt-get -qq download $wanted
fi
for package in *.deb; do dpkg -x "$package" "$folder"; done
rm -r "$state"
touch "$folder/complete"
