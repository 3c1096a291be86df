// Test support: products as kernels are selected for them, and tables that pin
// which kernel each takes.
#ifndef RUY_LIKE_TEST_REGISTRY_KERNEL_PINS_H_
#define RUY_LIKE_TEST_REGISTRY_KERNEL_PINS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ruy_like/path.h"
#include "ruy_like/registry/registry.h"

namespace ruy_like {

// A product as the caller of Mul sees it. kRow, kCol: memory orders.
enum MemoryOrder { kRow, kCol };

inline KernelQuery Query(Scalar lhs, Scalar rhs, std::ptrdiff_t rows,
                         std::ptrdiff_t depth, std::ptrdiff_t cols,
                         MemoryOrder lhs_order = kRow,
                         MemoryOrder rhs_order = kCol,
                         MemoryOrder dst_order = kCol) {
  KernelQuery query;
  const Scalar accum = IsFloat(lhs) ? Scalar::kF32 : Scalar::kI32;
  query.family = FamilyOf(lhs, rhs, accum, accum);
  query.rows = rows;
  query.cols = cols;
  query.depth = depth;
  query.scalar = {lhs, rhs};
  query.depth_contiguous = {lhs_order == kRow, rhs_order == kCol};
  query.cached = {false, false};
  query.dst_col_major = dst_order == kCol;
  return query;
}

constexpr Scalar kI8 = Scalar::kI8;
constexpr Scalar kU8 = Scalar::kU8;
constexpr Scalar kI16 = Scalar::kI16;
constexpr Scalar kF32 = Scalar::kF32;
constexpr Scalar kF64 = Scalar::kF64;

inline KernelQuery InAnyOrder(KernelQuery query) {
  query.float_sums = FloatSums::kAnyOrder;
  return query;
}
inline KernelQuery WithCachedLhs(KernelQuery query) {
  query.cached.lhs = true;
  return query;
}
inline KernelQuery WithCachedRhs(KernelQuery query) {
  query.cached.rhs = true;
  return query;
}
// A product of int8.
inline KernelQuery Bytes(std::ptrdiff_t rows, std::ptrdiff_t depth,
                         std::ptrdiff_t cols, MemoryOrder rhs_order = kCol,
                         MemoryOrder dst_order = kCol) {
  return Query(kI8, kI8, rows, depth, cols, kRow, rhs_order, dst_order);
}

struct Pin {
  const char* paths;  // permitted, next to portable
  KernelQuery query;
  const char* kernel;
  bool swap_sides = false;
};

inline void ExpectPins(const std::vector<Pin>& pins) {
  int pinned = 0;
  for (const Pin& pin : pins) {
    const Path permitted = ParsePaths(pin.paths).value();
    // The table is for compilers that build all of a line's paths.
    if ((permitted & ~CompiledPaths()) != Path::kNone) continue;
    ++pinned;
    const KernelChoice choice = SelectKernel(pin.query, permitted);
    const std::string what =
        std::string(pin.paths) + ": " + ScalarName(pin.query.scalar.lhs) +
        " x " + ScalarName(pin.query.scalar.rhs) + " " +
        std::to_string(pin.query.rows) + "x" + std::to_string(pin.query.depth) +
        "x" + std::to_string(pin.query.cols) +
        (pin.query.dst_col_major ? "" : ", dst row-major");
    ASSERT_NE(choice.kernel, nullptr) << what;
    EXPECT_STREQ(choice.kernel->name, pin.kernel) << what;
    EXPECT_EQ(choice.swap_sides, pin.swap_sides) << what;
  }
  if (pinned != 0) return;
#if defined(__x86_64__)
  FAIL() << "pinned nothing: of no line all paths are compiled";
#else
  GTEST_SKIP() << "these paths are for another processor";
#endif
}

constexpr char kUpToAvx512Vnni[] = "avx2,avxvnni,avx512,avx512vnni";
constexpr char kAll[] = "avx2,avxvnni,avx512,avx512vnni,amx";

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_REGISTRY_KERNEL_PINS_H_
