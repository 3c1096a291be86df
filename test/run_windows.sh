#!/usr/bin/env bash
# Builds the library for Windows by mingw-w64, warnings as errors, and runs the tests
# that start no programs under Wine, on the paths that this machine has: Wine is no
# emulator, instructions run on the processor itself. From any directory.
#
#   test/run_windows.sh          all of these, static and as a DLL
#   test/run_windows.sh --short  some, static, of one path for each vector length
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

short=(allocator_test cpu_features_test cpu_limits_test cpuid_caches_test env_test
       fault_injection_test fused_multiply_add_test packed_image_test products_test
       stack_alignment_test wait_test)
# Not among them: tests of files that are mapped, of fork, of small stacks, and of
# programs that start others.
all=("${short[@]}" accumulate_test allocation_test amx_cost_test arguments_test
     bad_batch_test block_map_test blocks_test
     checked_math_test choose_plan_test errors_test executor_test extreme_values_test
     float16_mul_test float16_test float_environment_test float_mul_test
     float_state_test float_sums_test group_weights_test hostile_memory_test
     matrix_test mul_batch_test mul_epilogue_test mul_plan_test mul_test
     narrow_kernel_test narrow_selection_test overlap_test pack_test
     packed_matrix_test panel_kernel_test path_test plan_test
     prepacked_cache_test processor_test random_test reference_mul_test registry_test scalar_test
     scaled_output_test single_thread_test threads_test validate_test
     value_range_test)
for name in errors lenient_mul matrix mul_params ruy_header tflite_pattern \
    thread_pool translation_pattern types utilities; do
  all+=("dropin_${name}_test")
done

bash third_party/other_system.sh windows
export WINEPREFIX=$PWD/build/wine WINEDEBUG=-all DISPLAY=
jobs=$(nproc)

tests=("${all[@]}") paths=
[ "${1:-}" != --short ] || tests=("${short[@]}") paths="avx2;avx512"

cmake --preset windows -DRUY_LIKE_COMPILE_PATHS="$paths" >/dev/null
cmake --build --preset windows --parallel "$jobs" \
  --target ruy_like ruy limited_program "${tests[@]}"
wine cmd /c exit  # makes the prefix, before programs run side by side
ctest --preset windows --parallel "$jobs" \
  --tests-regex "^($(IFS='|'; echo "${tests[*]}"))(\\.|$)" --label-exclude amx_emulated
bash test/each_first_allocation.sh test/wine.sh build/windows/test/limited_program.exe
[ "${1:-}" != --short ] || exit 0

# The DLLs, by a program that uses the library and one that uses the drop-in, with one
# path: the others are linked alike.
cmake --preset windows -B build/windows-dll -DBUILD_SHARED_LIBS=ON \
  -DRUY_LIKE_COMPILE_PATHS=avx2 \
  -DRUY_LIKE_BUILD_TESTS=OFF -DRUY_LIKE_BUILD_EXAMPLES=ON -DRUY_LIKE_RUY_DROPIN=ON \
  >/dev/null
cmake --build build/windows-dll --parallel "$jobs" \
  --target ruy_like_first_sample ruy_like_ruy_dropin_sample
cp build/windows-dll/*.dll build/windows-dll/dropin/*.dll build/windows-dll/example/
for program in first_sample ruy_dropin_sample; do
  echo "===== $program with DLLs"
  test/wine.sh "build/windows-dll/example/ruy_like_$program.exe"
done
