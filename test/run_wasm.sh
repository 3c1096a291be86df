#!/usr/bin/env bash
# Builds the library for WebAssembly by Emscripten, warnings as errors, and runs the
# tests that start no programs under Node. From any directory.
#
#   test/run_wasm.sh          all of these, without threads; and some with threads
#   test/run_wasm.sh --short  what CI does at night: some, without threads
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

short=(allocator_test float_mul_test pack_test panel_kernel_test products_test
       random_test single_thread_test)
# Not among them: tests of files that are mapped, of fork, of small stacks, of the
# glibc's own heap, and of processes to which something is refused.
all=("${short[@]}" accumulate_test arguments_test block_map_test checked_math_test
     choose_plan_test cpu_features_test cpu_limits_test env_test errors_test
     extreme_values_test float16_mul_test float16_test float_state_test float_sums_test
     group_weights_test matrix_test
     mul_batch_test mul_epilogue_test mul_test overlap_test packed_matrix_test path_test
     plan_test reference_mul_test registry_test scalar_test scaled_output_test
     validate_test value_range_test)
threads=(executor_test mul_batch_test products_test single_thread_test threads_test
         wait_test)

bash third_party/install.sh wasm
bash third_party/sources.sh build/sources
jobs=$(nproc)

run() {  # <preset> <test>...
  local preset=$1
  shift
  echo "===== $preset"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "$jobs" --target ruy_like "$@"
  # Of random_test 300 problems (.quick).
  ctest --preset "$preset" --parallel "$jobs" --exclude-regex '^random_test$' \
    --tests-regex "^($(IFS='|'; echo "$*"))(\\.|$)"
}

if [ "${1:-}" = --short ]; then
  run wasm "${short[@]}"
else
  run wasm "${all[@]}"
  run wasm-threads "${threads[@]}"
fi
