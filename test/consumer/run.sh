#!/usr/bin/env bash
# Builds test/consumer/project as a user of the library would, and runs it.
#
#   run.sh <way> <source dir> <build dir> <work dir> <compiler> <flags>
#          <quantize: ON or OFF>
#
# Ways:
#   installed_static  the library of the build directory, installed; through
#                     find_package and through pkg-config
#   installed_shared  the same with a shared library, built for it; and what
#                     that exports; and the drop-in for ruy, which is part of it
#   documented        the commands and CMake lines of doc/embedding.md,
#                     doc/migrating_from_ruy.md and doc/recipes.md
#   subdirectory      add_subdirectory, configured only: that the library leaves
#                     the host project alone, and installs nothing
#   subdirectory_quantize  add_subdirectory, and ruy_like::quantize is asked for:
#                     compiles both libraries anew, in a host without exceptions
#                     and RTTI
#   fetch_content     FetchContent with a local directory. Configures only: it
#                     is add_subdirectory behind the scenes
# Libraries that are built here are unoptimised, without debug information, and have
# a few of the paths, for time's sake.
set -euo pipefail

way=$1 source=$2 build=$3 work=$4 compiler=$5 flags=$6 quantize=$7
project=$source/test/consumer/project
rm -rf "$work"
mkdir -p "$work"

# Runs a command; shows what it said only if it fails.
quietly() {
  if ! "$@" >"$work/log" 2>&1; then
    echo "failed: $*" >&2
    cat "$work/log" >&2
    exit 1
  fi
}

# configure <source> <build> <options>...
configure() {
  quietly cmake -G Ninja -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS_DEBUG= \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" \
    -DRUY_LIKE_KERNEL_OPTIMIZATION=-O0 -DRUY_LIKE_COMPILE_PATHS="avx2;neon" \
    "${@:3}"
}

fail() {
  echo "$way: $*" >&2
  exit 1
}

# That find_package says why a component is not there.
expect_reason() {
  local log=$work/reason
  rm -rf "$work/reason_build"
  ! cmake -G Ninja -S "$project" -B "$work/reason_build" -DWAY=installed \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$1" \
    -DCOMPONENTS="$2" >"$log" 2>&1 || fail "finds the component $2"
  # CMake wraps the message.
  grep -qF "$3" <(tr -s ' \n' ' ' <"$log") ||
    fail "does not say '$3' but $(cat "$log")"
}

# A folder with the .pc files that users of the shared libraries need, and no others:
# those of libruy-like-dev and of what that depends on.
pkg_config_folder() {
  local folder=$work/pkgconfig
  rm -rf "$folder" && mkdir "$folder"
  cp "$1"/pkgconfig/ruy_like*.pc "$folder"
  cp "$(pkg-config --variable=pcfiledir absl_status)"/absl_*.pc "$folder"
  # Theirs is relative to where they lie.
  sed -i "s|\${pcfiledir}/\(\.\./\)*\.\.|$work/prefix|" "$folder"/ruy_like*.pc
  echo "$folder"
}

# The C interface: a project without C++, and pkg-config's flags (doc/c.md).
use_c_interface() {
  local folder program=$source/example/c/int8_gemm.c pkg_config_flags
  quietly cmake -G Ninja -S "$source/test/consumer/c" -B "$work/c" \
    -DCMAKE_PREFIX_PATH="$1" -DPROGRAM="$program"
  quietly cmake --build "$work/c"
  [ "$("$work/c/engine")" = $'4 5\n10 11' ] || fail "the C program prints something else"
  folder=$(dirname "$(find "$1" -name ruy_like_c.pc)")
  pkg_config_flags=$(PKG_CONFIG_LIBDIR=$folder PKG_CONFIG_PATH= \
    pkg-config --cflags --libs ruy_like_c)
  # shellcheck disable=SC2086
  quietly cc -std=c99 "$program" $pkg_config_flags -o "$work/c_program"
  LD_LIBRARY_PATH=$folder/.. quietly "$work/c_program"
}

# Both ways to find what is installed in $work/prefix.
use_installed() {
  local prefix=$work/prefix libdir
  local programs=(main.cc:ruy_like) components=
  if [ "$quantize" = ON ]; then
    programs+=(quantize.cc:ruy_like_quantize)
    components=quantize
  fi
  configure "$project" "$work/find_package" -DWAY=installed \
    -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS="$components"
  quietly cmake --build "$work/find_package"
  "$work/find_package/consumer"
  [ "$quantize" != ON ] || "$work/find_package/quantize_consumer"

  use_c_interface "$prefix"
  expect_reason "$prefix" nonsense "no component nonsense"
  cp -r "$prefix" "$work/without_quantize"
  find "$work/without_quantize" -name 'ruy_like-quantize-targets*.cmake' -delete
  expect_reason "$work/without_quantize" quantize "RUY_LIKE_QUANTIZE=OFF"

  libdir=$(dirname "$(find "$prefix" -name 'libruy_like.*' -print -quit)")
  local program pkg_config_flags
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  if [ -e "$libdir/libruy_like.so" ]; then
    export PKG_CONFIG_LIBDIR
    PKG_CONFIG_LIBDIR=$(pkg_config_folder "$libdir")
    PKG_CONFIG_PATH=
  fi
  for program in "${programs[@]}"; do
    pkg_config_flags=$(pkg-config --cflags --libs "${program#*:}")
    # Unquoted: these are words for the compiler.
    # shellcheck disable=SC2086
    quietly "$compiler" -std=c++17 $flags "$project/${program%:*}" \
      $pkg_config_flags -Wl,-rpath,"$libdir" -o "$work/pkg_config_consumer"
    "$work/pkg_config_consumer"
  done
}

case "$way" in
  installed_static)
    quietly cmake --install "$build" --prefix "$work/prefix"
    use_installed
    for file in LICENSE README.md doc/recipes.md; do
      [ -e "$work/prefix/share/doc/ruy_like/$file" ] || fail "no $file"
    done
    ;;
  documented)
    # The blocks of the pages, with little to compile.
    page=$source/doc/embedding.md
    mkdir "$work/copy"
    (cd "$source" && tar c --exclude=./build --exclude=./.git .) |
      tar x -C "$work/copy"
    sed -n '/^cmake --preset install/,/^```/{/^```/!p}' "$page" |
      sed "s|/opt/ruy_like|$work/prefix -DRUY_LIKE_KERNEL_OPTIMIZATION=-O0 \
        -DRUY_LIKE_COMPILE_PATHS=avx2 -DRUY_LIKE_RUY_DROPIN=ON|" \
        >"$work/install.sh"
    (cd "$work/copy" && quietly env CXX="$compiler" bash -e "$work/install.sh")
    # block_project <folder> <page> <number of the block> <program>: the block but
    # for one of its two ways, add_subdirectory or find_package.
    block_project() {
      local without=add_subdirectory
      [[ $1 != *_subdirectory ]] || without=find_package
      mkdir "$work/$1"
      cp "$4" "$work/$1/main.cc"
      ln -s "$work/copy" "$work/$1/ruy_like"
      {
        echo 'cmake_minimum_required(VERSION 3.25)'
        echo 'project(engine LANGUAGES CXX)'
        echo 'add_executable(engine main.cc)'
        awk -v n="$3" '/^```cmake/ {++k; on = k == n; next}
                       /^```/ {on = 0} on' "$2" | grep -v "^$without("
      } >"$work/$1/CMakeLists.txt"
      configure "$work/$1" "$work/$1/build" -DCMAKE_PREFIX_PATH="$work/prefix"
    }
    migrating=$source/doc/migrating_from_ruy.md
    ruy_program=$source/test/dropin/consumer/main.cc
    block_project engine1 "$page" 1 "$project/main.cc"
    block_project engine2 "$page" 2 "$project/main.cc"
    block_project engine3 "$migrating" 1 "$ruy_program"
    for engine in 1 2 3; do
      quietly cmake --build "$work/engine$engine/build"
      "$work/engine$engine/build/engine"
    done
    # Configured alone: other ways build the library as a subdirectory.
    block_project engine1_subdirectory "$page" 1 "$project/main.cc"
    block_project engine3_subdirectory "$migrating" 1 "$ruy_program"
    # The first recipe with int8 weights, as doc/recipes.md says.
    recipes=$source/doc/recipes.md
    block() {  # block <kind> <number>: that block of the page
      awk -v kind="^\`\`\`$1" -v n="$2" \
        '/^```/ {k += $0 ~ kind; on = $0 ~ kind && k == n; next} on' "$recipes"
    }
    diff <(block bash 1) <(sed -n '/^cmake --preset install/,/^```/{/^```/!p}' \
      "$page") || fail "recipes.md and embedding.md install in two ways"
    mkdir "$work/recipe"
    cp "$source/example/recipes/linear_int8.cc" "$work/recipe/main.cc"
    block cmake 1 >"$work/recipe/CMakeLists.txt"
    block bash 2 | sed "s|/opt/ruy_like|$work/prefix|" >"$work/recipe/run.sh"
    (cd "$work/recipe" && quietly env CXX="$compiler" bash -e run.sh)
    [ -x "$work/recipe/build/recipe" ] || fail "no recipe was built"
    [ -x "$work/prefix/bin/ruy_like_info" ] || fail "no ruy_like_info"
    ;;
  installed_shared)
    # For time's sake sources are merged.
    configure "$source" "$work/library" -DBUILD_SHARED_LIBS=ON \
      -DRUY_LIKE_COMPILE_PATHS=portable \
      -DCMAKE_UNITY_BUILD=ON \
      -DRUY_LIKE_RUY_DROPIN=ON \
      -DRUY_LIKE_BUILD_TESTS=OFF -DRUY_LIKE_BUILD_BENCHMARKS=OFF \
      -DRUY_LIKE_BUILD_EXAMPLES=OFF -DRUY_LIKE_BUILD_TOOLS=OFF \
      -DRUY_LIKE_QUANTIZE="$quantize"
    quietly cmake --build "$work/library" --parallel 2
    quietly cmake --install "$work/library" --prefix "$work/prefix"
    use_installed
    library=$(find "$work/prefix" -name libruy_like.so)
    bash "$source/test/consumer/exported_symbols.sh" "$library" \
      "TrMul SelectKernel MakeBlockMap kernels:: g_verbose_level" \
      "internal::MulErased Context::Context CompiledPaths ThreadPool::ThreadPool"
    if [ "$quantize" = ON ]; then
      bash "$source/test/consumer/exported_symbols.sh" \
        "${library%.so}_quantize.so" \
        "quantize_internal::PermittedTargets quantize_internal::N_" \
        "ChooseAffine Observer::Observe QuantizedAdd8p8To32 QuantizeMultiplier"
      ! grep -qF '::N_AVX' <<<"$(nm --demangle "${library%.so}_quantize.so")" ||
        fail "the toolkit has loops of paths that are left out"
    fi
    # The drop-in for ruy, by its own consumer.
    configure "$source/test/dropin/consumer" "$work/dropin_consumer" \
      -DCMAKE_PREFIX_PATH="$work/prefix"
    quietly cmake --build "$work/dropin_consumer"
    "$work/dropin_consumer/consumer"
    soname=$(readelf -d "$(dirname "$library")/libruy_like_dropin.so" |
      sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    [[ $soname =~ ^libruy_like_dropin\.so\.[0-9]+\.[0-9]+$ ]] ||
      fail "the drop-in is called '$soname'"
    # The program asks for the version that it was linked to.
    soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    [[ $soname =~ ^libruy_like\.so\.[0-9]+\.[0-9]+$ ]] ||
      fail "the library is called '$soname'"
    # Not into a pipe: grep -q ends at the first match, and readelf, still
    # writing, would fail.
    grep -qF "[$soname]" <<<"$(readelf -d "$work/find_package/consumer")" ||
      fail "the program does not ask for $soname"
    [ -e "$(dirname "$library")/$soname" ] || fail "no file $soname"
    ! grep -qF '[libruy_like.so' <<<"$(readelf -d "${library%.so}_c.so")" ||
      fail "the C library asks for the C++ one"
    ;;
  subdirectory)
    configure "$project" "$work/build" -DWAY=subdirectory \
      -DRUY_LIKE_SOURCE_DIR="$source"
    quietly cmake --install "$work/build" --prefix "$work/prefix"
    [ ! -e "$work/prefix" ] || fail "installs $(find "$work/prefix" -type f)"
    ;;
  subdirectory_quantize)
    flags="$flags -fno-exceptions -fno-rtti"
    configure "$project" "$work/build" -DWAY=subdirectory \
      -DRUY_LIKE_SOURCE_DIR="$source" -DRUY_LIKE_QUANTIZE=ON
    quietly cmake --build "$work/build" --parallel 2
    "$work/build/consumer"
    "$work/build/quantize_consumer"
    ;;
  fetch_content)
    configure "$project" "$work/build" -DWAY=fetch_content \
      -DRUY_LIKE_SOURCE_DIR="$source"
    ;;
  *) fail "no such way" ;;
esac
