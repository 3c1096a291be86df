#!/usr/bin/env bash
# Builds all targets of BUILD.bazel and of dropin/bazel by Debian's Bazel, and a user's
# program of each library, which it runs. From any directory.
#
#   test/run_bazel.sh [<option of bazel build>...]
#
# Bazel 4.2.3 has no modules, and downloads nothing here: repositories of the names that
# projects with a WORKSPACE use stand for what it would fetch. Abseil and Highway are the
# system's. The exit code is 77 where there is no such Bazel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source=$PWD work=$PWD/build/bazel

case "$(bazel --version 2>/dev/null)" in
  "bazel no_version" | "bazel 4."*) ;;  # Debian's says nothing
  *)
    echo "SKIPPED: no Bazel 4 (third_party/install.sh bazel)"
    exit 77
    ;;
esac

rm -rf "$work/stubs" "$work/user" "$work/checkout"
mkdir -p "$work"
cd "$work"

# write <file>: stdin, in folders that are made.
write() { mkdir -p "$(dirname "$1")" && cat >"$1"; }

# The rules of C++, which this Bazel contains under other names (Debian's package of them
# wants a newer one), and of Java, which it reads when it looks for toolchains.
# rules <language> <rule>...
rules() {
  : | write "stubs/rules_$1/$1/BUILD"
  printf '%s\n' "${@:2}" | sed 's/.*/& = native.&/' | write "stubs/rules_$1/$1/defs.bzl"
}
rules cc cc_library cc_binary cc_test cc_import cc_proto_library cc_toolchain \
  cc_toolchain_suite fdo_profile fdo_prefetch_hints objc_library objc_import
rules java java_import java_runtime java_toolchain
# Every cc_test names it; only measuring coverage would use it.
write stubs/remote_coverage_tools/BUILD <<'EOF'
filegroup(name = "coverage_report_generator", visibility = ["//visibility:public"])
EOF

# system_library <name> <package of pkg-config>...
system_library() {
  echo "cc_library(name = '$1', linkopts = '$(pkg-config --libs "${@:2}" | xargs)'.split(' ')," \
    "visibility = ['//visibility:public'])"
}
system_library hwy libhwy | write stubs/highway/BUILD
system_library absl absl_{fixed_array,hash,span,status,statusor,str_format,strings} |
  write stubs/com_google_absl/BUILD
grep -o '@abseil-cpp//[a-z_/:]*' "$source/BUILD.bazel" | sort -u | while read -r label; do
  package=${label#*//} name=${label##*[/:]}
  mkdir -p "stubs/com_google_absl/${package%:*}"
  echo "alias(name = '$name', actual = '//:absl', visibility = ['//visibility:public'])" \
    >>"stubs/com_google_absl/${package%:*}/BUILD"
done
for repository in stubs/*; do touch "$repository/WORKSPACE"; done

# workspace <name> <name of Abseil's repository>
workspace() {
  echo "workspace(name = '$1')"
  local name
  for name in rules_cc rules_java remote_coverage_tools highway com_google_absl; do
    echo "local_repository(name = '${name/com_google_absl/$2}', path = '$work/stubs/$name')"
  done
}

# bazel_in <folder> <argument>...: ends with it, as a server would not.
bazel_in() {
  (cd "$1" && bazel --batch --output_user_root="$work/out" "${@:2}")
}

echo "===== A checkout of ours: its targets, without a build"
mkdir checkout
ln -s "$source"/{.bazelignore,BUILD.bazel,bazel,dropin,ruy_like} checkout/
workspace ruy_like abseil-cpp >checkout/WORKSPACE
bazel_in checkout build --nobuild //...

echo "===== A project that has ruy_like as a repository, and the drop-in as ruy"
mkdir user
{
  workspace user com_google_absl
  cat <<EOF
new_local_repository(
    name = "ruy_like",
    build_file = "$source/BUILD.bazel",
    path = "$source",
    repo_mapping = {"@abseil-cpp": "@com_google_absl"},
)
new_local_repository(
    name = "ruy",
    build_file_content = "",
    path = "$source/dropin/bazel",
)
EOF
} >user/WORKSPACE
cp "$source"/test/consumer/project/{main,quantize}.cc user/
cp "$source/test/dropin/consumer/main.cc" user/ruy.cc
cat >user/BUILD <<'EOF'
load("@rules_cc//cc:defs.bzl", "cc_test")

[
    cc_test(
        name = name + "_test",
        size = "small",
        srcs = [name + ".cc"],
        copts = ["-std=c++17"],
        deps = deps,
    )
    for name, deps in {
        "main": ["@ruy_like"],
        "quantize": ["@ruy_like//:quantize"],
        "ruy": ["@ruy//ruy", "@ruy//ruy:context", "@ruy//ruy/profiler:instrumentation"],
    }.items()
]
EOF
bazel_in user test --jobs="$(nproc)" --nosandbox_debug --test_output=errors "$@" \
  @ruy_like//... @ruy//... //...
