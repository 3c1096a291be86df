"""The instruction-set paths, as ruy_like/registry/paths.inc lists them.

test/bazel_lists_test.cmake compares this list with that one.
"""

load("@rules_cc//cc:defs.bzl", "cc_library")

# Enumerator, name, processor, whether it packs by routines of its own, flags.
PATHS = [
    ("Portable", "portable", "any", True, ""),
    ("Avx", "avx", "x86", True, "-mavx"),
    ("Avx2", "avx2", "x86", True, "-mavx2 -mfma -mf16c"),
    ("AvxVnni", "avxvnni", "x86", False, "-mavx2 -mfma -mf16c -mavxvnni"),
    ("Avx512", "avx512", "x86", True, "-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl"),
    ("Avx512Vnni", "avx512vnni", "x86", False, "-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni"),
    ("Avx512Bf16", "avx512bf16", "x86", False, "-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx512bf16"),
    ("Amx", "amx", "x86", False, "-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mamx-tile -mamx-int8"),
    ("Neon", "neon", "arm", True, ""),
    ("NeonDot", "neondot", "arm", False, "-march=armv8.2-a+dotprod"),
    ("NeonI8mm", "neoni8mm", "arm", False, "-march=armv8.2-a+dotprod+i8mm"),
    ("NeonBf16", "neonbf16", "arm", False, "-march=armv8.2-a+dotprod+i8mm+bf16"),
]

# The paths of each processor's build; others have the portable path.
PROCESSORS = {
    "x86": "@platforms//cpu:x86_64",
    "arm": "@platforms//cpu:aarch64",
}

# As cmake/Paths.cmake has them.
PATH_COPTS = ["-O3", "-ffp-contract=off"]
PROCESSOR_COPTS = {
    "any": [],
    "x86": [],
    "arm": select({
        "//:clang": [],
        "//conditions:default": ["-fno-schedule-insns"],
    }),
}

def _paths_of(processor):
    return [path for path in PATHS if path[2] in ("any", processor)]

def ruy_like_paths(internal_headers, copts):
    """A library of each path, //:path_<name>, and the lists that the registry reads.

    Args:
      internal_headers: a target of all headers and .inc files of ruy_like/.
      copts: include paths and what else all sources are compiled with.
    """
    for _, name, processor, packs, flags in PATHS:
        cc_library(
            name = "path_" + name,
            srcs = ["ruy_like/kernels/%s.cc" % name] +
                   (["ruy_like/pack/%s.cc" % name] if packs else []),
            copts = copts + PATH_COPTS + PROCESSOR_COPTS[processor] +
                    [flag for flag in flags.split(" ") if flag],
            linkstatic = True,
            # `bazel build //...` passes those of other processors over.
            target_compatible_with = [PROCESSORS[processor]] if processor in PROCESSORS else [],
            deps = [internal_headers],
        )
    for processor in list(PROCESSORS) + ["any"]:
        paths = _paths_of(processor)
        native.genrule(
            name = "compiled_paths_" + processor,
            srcs = ["ruy_like/registry/paths.inc"],
            outs = ["%s/ruy_like/compiled_paths.inc" % processor],
            cmd = "grep -E '^RUY_LIKE_PATH.[A-Za-z0-9]+, (%s), ' $< >$@" %
                  "|".join([path[1] for path in paths]),
        )
        native.genrule(
            name = "compiled_packs_" + processor,
            outs = ["%s/ruy_like/compiled_packs.inc" % processor],
            cmd = "echo '%s' >$@" %
                  " ".join(["RUY_LIKE_PACK_PATH(%s)" % path[0] for path in paths if path[3]]),
        )
        cc_library(
            name = "compiled_" + processor,
            hdrs = [":compiled_paths_" + processor, ":compiled_packs_" + processor],
            includes = [processor],
        )

def _deps_of(processor):
    return [":compiled_" + processor] + [":path_" + path[1] for path in _paths_of(processor)]

def path_deps():
    """The paths of the processor that this is built for, and their list."""
    choices = {PROCESSORS[processor]: _deps_of(processor) for processor in PROCESSORS}
    choices["//conditions:default"] = _deps_of("any")
    return select(choices)
