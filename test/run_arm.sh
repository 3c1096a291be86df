#!/usr/bin/env bash
# Builds the tests for Arm and runs them under an emulator, as a processor for each
# path: with NEON alone, with dot products, with 8-bit matrix multiplication too.
# From any directory.
#
#   test/run_arm.sh [--32] [--short | --paths | --all] [--clang] [<ctest option>...]
#
# --32: for 32-bit Arm, as a processor with NEON and one without it; of the
# portable path, whose pointers have 32 bits here, the quick tests too.
#
# Each processor runs the kernel tests of its best path and products whose
# checksums were made on an x86; the last one also the tests that look at all
# paths, random products against the reference among them. CI does that for 64 bits
# at each change, and for 32 bits only the few of these tests that --short selects.
# --paths runs every test of the best path instead, a quarter of an hour on two
# cores besides the build, and --all the whole suite on each.
#
# What the emulated programs can not do is left out: to start other programs (a
# kernel would need to be told of the emulator), and to measure time; and so is
# what the emulator takes 20 GB or ten minutes for.
#
# A processor whose tests fail does not keep the others from running; which ones
# failed is said at the end. Each test may take ten minutes of CPU time, however
# long that is on a busy machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bits=64
extent=kernels
clang=
while [ $# -gt 0 ]; do
  case "$1" in
    --32) bits=32 ;;
    --short) extent=short ;;
    --paths) extent=paths ;;
    --all) extent=all ;;
    --clang) clang=clang ;;
    *) break ;;
  esac
  shift
done

if [ "$bits" = 64 ]; then
  preset=arm64${clang:+-clang} arch=arm best=max,sve=off
  bash third_party/install.sh arm $clang
elif [ -n "$clang" ]; then
  echo "$0: --clang is for 64 bits" >&2
  exit 2
else
  preset=armhf arch=arm32 best=cortex-a15
  bash third_party/install.sh armhf
fi
cmake --preset "$preset" -DRUY_LIKE_BUILD_TESTS=ON -DRUY_LIKE_BUILD_BENCHMARKS=OFF
for_all=(c_interface_test c_program cpu_features_test path_test registry_test
         narrow_selection_test products_test
         random_test.quick)
# By path; of 16-bit floats, the paths that have kernels of their own for them.
kernel_tests=(panel_kernel_test narrow_kernel_test group_weights_test)
float16_tests=(float16_mul_test)
float16_paths='^(neon32|neon|neonbf16)$'
if [ "$bits" = 32 ]; then
  for_all+=(allocator_test arguments_test checked_math_test errors_test
            float_state_test multiplier_test packed_image_test quant_params_test
            requantize_test validate_test)
  # Its floats are not those of any other path.
  kernel_tests+=(float_mul_test scaled_output_test)
fi
if [ "$extent" = short ]; then
  for_all=(cpu_features_test products_test)
  kernel_tests=(panel_kernel_test float_mul_test small_stack_test)
  float16_tests=()
fi
targets=(ruy_like_tests)
if [ "$extent" = kernels ] || [ "$extent" = short ]; then
  targets=("${kernel_tests[@]}" "${float16_tests[@]}" "${for_all[@]%.quick}")
fi
cmake --build --preset "$preset" --parallel "$(nproc)" --target "${targets[@]}"

# Tests that start programs or build projects.
unfit='^(trace_test|verbose_test|info_test|limits_test|calibrate_test|valgrind'
unfit+='|examples_test|executor_example\..*|doc_snippets'
unfit+='|dropin_errors_test|dropin_lenient_mul_test'
unfit+='|dropin_sample_test|dropin_consumer_.*|dropin_host_.*)$'
# Matrices gigabytes apart, of which the emulator keeps a table of pages; every
# allocation of large products failing in turn.
unfit+='|^(large_offset|fault_injection)_test\.'

# A test's limit; an hour of wall time ends one that hangs (cmake/Tests.cmake).
cpu_seconds=600
failed=()

# run <processor> <paths> <ctest option>...
run() {
  echo "===== $1: $2"
  (
    ulimit -t "$cpu_seconds"
    QEMU_CPU=$1 RUY_LIKE_REQUIRE_PATHS=$2 \
      ctest --preset "$preset" --parallel "$(nproc)" --exclude-regex "$unfit" \
      "${@:3}"
  ) || failed+=("$1: $2")
}

# Options that choose the tests of a path.
tests_of() {
  local tests=("${kernel_tests[@]}")
  [[ ! $1 =~ $float16_paths ]] || tests+=("${float16_tests[@]}")
  case "$extent" in
    kernels | short)
      echo --tests-regex \
        "^(($(IFS='|'; echo "${tests[*]}")).$1|products_test)$" ;;
    paths) echo --label-regex "^$1$" ;;
  esac
}

# Each path of paths.inc, worst first, on a processor whose best one it is.
mapfile -t arm_paths < <(
  sed -nE "s/^RUY_LIKE_PATH\([A-Za-z0-9]+, ([a-z0-9]+), $arch,.*/\1/p" \
    ruy_like/registry/paths.inc)
paths=
for path in "${arm_paths[@]}"; do
  paths+=${paths:+,}$path
  case "$path" in
    neon32) processor=cortex-a9 ;;
    neon) processor=cortex-a53 ;;
    neondot) processor=cortex-a76 ;;
    *) processor=$best ;;
  esac
  # shellcheck disable=SC2046
  run "$processor" "$paths" $(tests_of "$path") "$@"
done
if [ "$extent" != all ]; then
  run "$best" "$paths" \
    --tests-regex "^($(IFS='|'; echo "${for_all[*]}"))$" "$@"
fi
if [ "$bits" = 32 ]; then
  run cortex-a9,neon=off portable \
    --tests-regex '^((cpu_features|products)_test|float_mul_test.portable)$' "$@"
fi
if [ ${#failed[@]} -gt 0 ]; then
  printf 'tests failed on %s\n' "${failed[@]}" >&2
  exit 1
fi
