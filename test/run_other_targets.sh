#!/usr/bin/env bash
# Builds the library for processors that have the portable path alone, warnings as
# errors, and runs the quick tests there, under an emulator. From any directory.
#
#   test/run_other_targets.sh [<target>...]
#
# s390x is for the byte order, i386 is for pointers of 32 bits. Without a target:
# both, which is what CI does at each change.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# -gt 0 ] || set -- s390x i386

tests=(allocator_test arguments_test checked_math_test cpu_features_test
       errors_test mul_test pack_test packed_image_test packed_matrix_test
       products_test
       random_test registry_test narrow_selection_test validate_test)
quantize_tests=(multiplier_test quant_params_test requantize_test)
# Thousands of products each: too slow here. products_test and random_test have
# some of every kind.
too_slow='*.AllTypesInAllOrders/*:*.SizesAroundTileEdges/*:*.EveryDepth/*'
too_slow+=':*.ReachesEveryKernel/*:*.SeveralBlocks/*:*.NarrowProducts/*'
too_slow+=':*.EveryTypeOrderAndSide/*:*.SizesAroundTheTiles/*'
too_slow+=':*.LargeProductsOnThreads/*:*.EveryNarrowWidth/*'
too_slow+=':*/PackTest.Options/*:*/PackTest.Deep/*'

for target in "$@"; do
  echo "===== $target"
  bash third_party/install.sh "$target"
  cmake --preset "$target" -DRUY_LIKE_BUILD_TESTS=ON >/dev/null
  chosen=("${tests[@]}" "${quantize_tests[@]}")
  cmake --build --preset "$target" --parallel "$(nproc)" --target "${chosen[@]}"
  # random_test.quick instead of random_test.
  regex="^($(IFS='|'; echo "${chosen[*]}"))(\.(portable|rest|quick))?$"
  GTEST_FILTER="-$too_slow" ctest --preset "$target" --parallel "$(nproc)" \
    --tests-regex "$regex" --exclude-regex '^random_test$'
done
