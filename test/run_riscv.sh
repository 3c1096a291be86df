#!/usr/bin/env bash
# Builds the library for 64-bit RISC-V by clang 19, warnings as errors, and runs tests
# under an emulator: as a processor whose vectors have 128 bits and as one where they
# have 256, both by the path rvv128; and without the vector extension, where that path
# must not be taken. From any directory.
#
#   test/run_riscv.sh          all tests that start no programs; at 256 bits those
#                              of the path
#   test/run_riscv.sh --short  some
#
# The toolkit is left out: Highway 1.0.3 does not compile for these vectors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for_all=(cpu_features_test float_state_test products_test)
by_path=(panel_kernel_test mul_epilogue_test float_mul_test)
if [ "${1:-}" != --short ]; then
  for_all+=(allocator_test arguments_test checked_math_test errors_test pack_test
            packed_image_test path_test registry_test narrow_selection_test
            random_test validate_test)
  by_path+=(accumulate_test extreme_values_test float16_mul_test float_environment_test
            float_sums_test group_weights_test mul_batch_test mul_test
            packed_matrix_test scaled_output_test small_stack_test threads_test)
fi

bash third_party/other_system.sh riscv
cmake --preset riscv64 -DRUY_LIKE_BUILD_TESTS=ON >/dev/null
cmake --build --preset riscv64 --parallel "$(nproc)" \
  --target ruy_like "${for_all[@]}" "${by_path[@]}"

# run <processor> <paths that must be there> <regex of tests>
run() {
  echo "===== $1: $2"
  # random_test runs 300 problems (.quick).
  QEMU_CPU=$1 RUY_LIKE_REQUIRE_PATHS=$2 ctest --preset riscv64 \
    --parallel "$(nproc)" --exclude-regex '^random_test$' --tests-regex "$3"
}
any_of() { (IFS='|'; echo "$*"); }

tests="^(($(any_of "${for_all[@]}"))(\.(quick|rest))?|($(any_of "${by_path[@]}"))\.rvv128)$"
run rv64,v=true,vlen=128 rvv128 "$tests"
run rv64,v=true,vlen=256 rvv128 "^(products_test|($(any_of "${by_path[@]}"))\.rvv128)$"
run rv64,v=false portable '^((cpu_features|products)_test|panel_kernel_test.rvv128)$'
