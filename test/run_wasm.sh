#!/usr/bin/env bash
# Builds the library for WebAssembly by Emscripten, warnings as errors, and runs the
# tests that start no programs under Node. From any directory.
#
#   test/run_wasm.sh          all of these, without threads; and some with threads
#   test/run_wasm.sh --short  some, without threads
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

short=(allocator_test fault_injection_test packed_image_test panel_kernel_test
       products_test random_test single_thread_test)
# Not among them: tests of files that are mapped, of fork, of small stacks, of float
# exceptions, and of programs that start others.
all=("${short[@]}" accumulate_test allocation_test amx_cost_test arguments_test
     bad_batch_test block_map_test checked_math_test choose_plan_test cpu_features_test
     cpu_limits_test env_test errors_test extreme_values_test float16_mul_test
     float16_test float_mul_test float_state_test float_sums_test
     fused_multiply_add_test group_weights_test
     hostile_memory_test matrix_test mul_batch_test mul_epilogue_test mul_test
     narrow_selection_test overlap_test pack_test packed_matrix_test path_test
     plan_test prepacked_cache_test processor_test reference_mul_test registry_test
     scalar_test scaled_output_test validate_test value_range_test)
threads=(allocation_test executor_test fault_injection_test mul_batch_test
         mul_plan_test products_test single_thread_test threads_test wait_test)

bash third_party/other_system.sh wasm
jobs=$(nproc)

run() {  # <preset> <test>...
  local preset=$1
  shift
  echo "===== $preset"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "$jobs" \
    --target ruy_like limited_program "$@"
  # random_test runs 300 problems (.quick).
  ctest --preset "$preset" --parallel "$jobs" --exclude-regex '^random_test$' \
    --tests-regex "^($(IFS='|'; echo "$*"))(\\.|$)"
  bash test/each_first_allocation.sh node --no-experimental-fetch \
    "build/$preset/test/limited_program.js"
}

if [ "${1:-}" = --short ]; then
  run wasm "${short[@]}"
else
  run wasm "${all[@]}"
  run wasm-threads "${threads[@]}"
fi
