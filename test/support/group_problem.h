// Test support: products with group-scaled weights, drawn from a seed, against
// the oracle of reference_group_mul.h bit for bit.
//
// Shared by group_weights_test.cc, which goes through sizes around those of
// panels and tiles, and random_test.cc, which draws as many as it is told.
// Every buffer lies at a guard page.
#ifndef RUY_LIKE_TEST_SUPPORT_GROUP_PROBLEM_H_
#define RUY_LIKE_TEST_SUPPORT_GROUP_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "ruy_like/context.h"
#include "ruy_like/float16.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/matrix.h"
#include "ruy_like/scalar.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {

// A description of weights, and the random arrays that it points to. `gap`:
// elements between rows; `magnitude`: the greatest of the scales, which have
// either sign or are 0. 2 bits always have a table.
struct RandomGroupWeights {
  GroupWeights description;
  GuardedBuffer levels, scales, zeros, table, depth_order;

  RandomGroupWeights(std::ptrdiff_t rows, std::ptrdiff_t depth, int bits,
                     std::ptrdiff_t group_size, Scalar scale_type,
                     bool has_zeros, std::ptrdiff_t gap, float magnitude,
                     Rng* rng, bool has_table = false)
      : RandomGroupWeights(rows, depth, bits, group_size, scale_type, has_zeros,
                           gap, magnitude, rng, has_table || bits == 2,
                           GroupCount(depth, group_size)) {}

  static std::ptrdiff_t GroupCount(std::ptrdiff_t depth,
                                   std::ptrdiff_t group_size) {
    return group_size == 0 ? (depth == 0 ? 0 : 1)
                           : (depth + group_size - 1) / group_size;
  }

  // Gives them a random depth order.
  void Shuffle(Rng* rng);

 private:
  static std::ptrdiff_t Bytes(std::ptrdiff_t rows, std::ptrdiff_t row,
                              std::ptrdiff_t gap) {
    return rows == 0 || row == 0 ? 0 : (rows - 1) * (row + gap) + row;
  }
  RandomGroupWeights(std::ptrdiff_t rows, std::ptrdiff_t depth, int bits,
                     std::ptrdiff_t group_size, Scalar scale_type,
                     bool has_zeros, std::ptrdiff_t gap, float magnitude,
                     Rng* rng, bool has_table, std::ptrdiff_t groups);
};

// A matrix at a guard page, its gaps painted.
template <typename T>
struct GuardedMatrix {
  Matrix<T> matrix;
  GuardedBuffer buffer;

  GuardedMatrix(std::ptrdiff_t rows, std::ptrdiff_t cols, Order order,
                std::ptrdiff_t gap)
      : matrix(MakeMatrix(static_cast<T*>(nullptr), rows, cols, order, gap)),
        buffer(SpanOf(matrix.layout()) * sizeof(T), Flush::kEnd) {
    matrix.set_data(buffer.as<T>());
    Paint();
  }

  // As it was at first, gaps and elements.
  void Paint() { std::memset(buffer.data(), 0x5a, buffer.bytes()); }
};

// Elements of any value; floats up to `unit`.
void FillActivations(Matrix<std::int8_t>* matrix, Rng* rng, float unit);
template <typename T>
void FillActivations(Matrix<T>* matrix, Rng* rng, float unit) {
  FillElements(matrix, [=] { return RandomFloat(rng) * unit; });
}

// ReferenceGroupMul's dst, column by column. Here, with optimisation: instances
// of that template in a test program, which is compiled without, would serve
// all of it.
std::vector<float> GroupReference(const GroupWeights& weights,
                                  const Matrix<std::int8_t>& activations,
                                  const GroupMulParams& params);

// `rows` of weights by `cols` columns of activations: sizes of one panel or
// tile to several of them.
Shape RandomGroupShape(std::uint64_t seed);

// Draws types, layouts, weights, activations and parameters from the seed,
// multiplies by way of each of the contexts, and fails fatally where an
// element's bits are not the oracle's or one outside of dst was written.
// Returns the types, "4 bits by float16 x bf16 -> float": the first one is that
// of the scales.
void CheckGroupProduct(const Shape& shape, std::uint64_t seed,
                       const std::vector<Context*>& contexts,
                       std::string* types = nullptr);

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_GROUP_PROBLEM_H_
