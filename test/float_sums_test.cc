// The order of float sums: by default a column's bits do not depend on the rest
// of the batch; and where any order is permitted, they do not depend on
// threads. Error bounds are checked by mul_runner.h, kernels by
// narrow_kernel_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "ruy_like/float16.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kMostCols = 64;

// How the matrix of weights comes into a product.
enum class Weights { kPlain, kCached, kPacked };

// dst = weights * batch, or its transpose; both operands contiguous along
// depth.
template <typename Weight, typename Input, typename Accum, typename Dst>
class Layer {
 public:
  Layer(std::ptrdiff_t rows, std::ptrdiff_t depth, Context* context)
      : rows_(rows),
        depth_(depth),
        context_(context),
        weights_(RandomReals<Weight>(rows * depth, 1)),
        inputs_(RandomReals<Input>(depth * 2 * kMostCols, 2)) {
    PackOptions options;
    if (std::is_same_v<Weight, float> &&
        (std::is_same_v<Input, double> || std::is_same_v<Accum, double> ||
         std::is_same_v<Dst, double>)) {
      options.pack_for = PackFor::kDoubleProduct;
    }
    for (const bool transposed : {false, true}) {
      // The order of dst decides which side of the kernel the weights are.
      options.dst_order = transposed ? Order::kRowMajor : Order::kColMajor;
      const auto packed =
          Pack(WeightMatrix(transposed, CachePolicy::kNeverCache),
               transposed ? Side::kRhs : Side::kLhs, options, context_);
      EXPECT_OK(packed);
      if (packed.ok()) packed_[transposed] = *packed;
    }
  }
  ~Layer() { context_->ClearPrepackedCache(); }

  MulParams<Accum, Dst>& params() { return params_; }
  std::ptrdiff_t rows() const { return rows_; }

  // The results of `count` times `cols` inputs from `first` on, one after the
  // other: those of a MulBatch with so many products, or with a count of 0 of
  // one Mul.
  std::vector<Dst> Run(std::ptrdiff_t first, std::ptrdiff_t cols,
                       Weights weights, bool transposed, int threads,
                       std::ptrdiff_t count = 0) {
    std::vector<Dst> results(rows_ * cols * std::max<std::ptrdiff_t>(count, 1));
    Batch batch;
    batch.count = count;
    (transposed ? batch.lhs_stride : batch.rhs_stride) = cols * depth_;
    batch.dst_stride = rows_ * cols;
    const auto multiply = [&](const auto& lhs, const auto& rhs,
                              Matrix<Dst>* dst) {
      return count == 0 ? Mul(lhs, rhs, params_, context_, dst)
                        : MulBatch(lhs, rhs, params_, batch, context_, dst);
    };
    const Input* const inputs = inputs_.data() + first * depth_;
    const CachePolicy policy = weights == Weights::kCached
                                   ? CachePolicy::kAlwaysCache
                                   : CachePolicy::kNeverCache;
    const auto plain = WeightMatrix(transposed, policy);
    context_->set_max_num_threads(threads);
    absl::Status status;
    if (transposed) {
      const auto lhs = RowMajorOf(inputs, cols, depth_);
      auto dst = RowMajorOf(results, cols, rows_);
      status = weights == Weights::kPacked ? multiply(lhs, packed_[1], &dst)
                                           : multiply(lhs, plain, &dst);
    } else {
      const auto rhs = ColMajorOf(inputs, depth_, cols);
      auto dst = ColMajorOf(results, rows_, cols);
      status = weights == Weights::kPacked ? multiply(packed_[0], rhs, &dst)
                                           : multiply(plain, rhs, &dst);
    }
    EXPECT_OK(status);
    return results;
  }

 private:
  Matrix<Weight> WeightMatrix(bool transposed, CachePolicy policy) const {
    auto matrix = transposed ? ColMajorOf(weights_, depth_, rows_)
                             : RowMajorOf(weights_, rows_, depth_);
    matrix.set_cache_policy(policy);
    return matrix;
  }

  const std::ptrdiff_t rows_, depth_;
  Context* const context_;
  const std::vector<Weight> weights_;
  const std::vector<Input> inputs_;
  MulParams<Accum, Dst> params_;
  PackedMatrix<Weight> packed_[2];
};

class FloatSumsTest : public PathTest {
 protected:
  void SetUp() override {
    PathTest::SetUp();
    context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  }

  // Batches of each size, whose positions are taken by one input after the
  // other, against each input alone; by one Mul, and in the products of a
  // MulBatch.
  template <typename Weight, typename Input, typename Accum, typename Dst>
  void ExpectBatchInvariant(std::ptrdiff_t rows, std::ptrdiff_t depth) {
    Layer<Weight, Input, Accum, Dst> layer(rows, depth, &context_);
    std::vector<Dst> alone;
    for (std::ptrdiff_t i = 0; i < 2 * kMostCols; ++i) {
      const std::vector<Dst> one = layer.Run(i, 1, Weights::kPlain, false, 1);
      alone.insert(alone.end(), one.begin(), one.end());
    }
    int threads = 1;
    for (std::ptrdiff_t cols = 1; cols <= kMostCols; cols += kThinning) {
      for (const Weights weights :
           {Weights::kPlain, Weights::kCached, Weights::kPacked}) {
        for (const bool transposed : {false, true}) {
          const std::ptrdiff_t most = 2 * kMostCols / cols;
          for (const std::ptrdiff_t count :
               {std::ptrdiff_t{0}, std::min<std::ptrdiff_t>(most, 3)}) {
            const std::ptrdiff_t first = count <= 1 ? cols % 2 * cols : 0;
            const std::vector<Dst> batch =
                layer.Run(first, cols, weights, transposed, threads, count);
            ASSERT_EQ(std::memcmp(batch.data(), alone.data() + first * rows,
                                  batch.size() * sizeof(Dst)),
                      0)
                << cols << " of " << rows << "x" << depth << ", " << count
                << " products, weights " << static_cast<int>(weights)
                << (transposed ? ", transposed, " : ", ") << threads
                << " threads, kernel " << context_.last_used_kernel();
          }
          threads = threads % 8 + 1;
        }
      }
      // So that each number of threads meets each way of calling.
      threads = threads % 8 + 1;
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(FloatSumsTest);

TEST_P(FloatSumsTest, FloatsAreBatchInvariant) {
  ExpectBatchInvariant<float, float, float, float>(131, 75);
  ExpectBatchInvariant<float, float, float, float>(33, 600);
  ExpectBatchInvariant<float, float, float, float>(9, 3000);
}

TEST_P(FloatSumsTest, FloatsOf16BitsAreBatchInvariant) {
  ExpectBatchInvariant<BFloat16, BFloat16, float, BFloat16>(65, 75);
  ExpectBatchInvariant<Float16, Float16, float, float>(65, 75);
  ExpectBatchInvariant<BFloat16, float, float, float>(65, 75);
  ExpectBatchInvariant<float, Float16, float, float>(65, 75);
}

TEST_P(FloatSumsTest, DoublesAreBatchInvariant) {
  ExpectBatchInvariant<double, double, double, double>(37, 75);
  ExpectBatchInvariant<double, double, double, float>(37, 75);
  ExpectBatchInvariant<float, float, double, double>(37, 75);
  ExpectBatchInvariant<float, double, float, float>(37, 75);
  ExpectBatchInvariant<double, float, double, double>(37, 75);
}

// The same call gives the same bits on any number of threads.
TEST_P(FloatSumsTest, InAnyOrderThreadsChangeNothing) {
  for (const std::ptrdiff_t depth : {1, 40, 75, 1024, 3001}) {
    Layer<float, float, float, float> layer(531, depth, &context_);
    layer.params().set_float_sums(FloatSums::kAnyOrder);
    for (const std::ptrdiff_t cols : {1, 2, 3, 4, 5, 16}) {
      for (const Weights weights :
           {Weights::kPlain, Weights::kCached, Weights::kPacked}) {
        for (const bool transposed : {false, true}) {
          std::vector<float> first;
          for (int threads = 1; threads <= 8; threads += kThinning) {
            const std::vector<float> results =
                layer.Run(3, cols, weights, transposed, threads);
            if (threads == 1) first = results;
            ASSERT_EQ(results, first)
                << cols << " of depth " << depth << ", " << threads
                << " threads, kernel " << context_.last_used_kernel();
          }
        }
      }
    }
  }
}

// Where a kernel adds up side by side, which it does not unless it may.
TEST_P(FloatSumsTest, AnotherOrderOnlyWherePermitted) {
  Layer<float, float, float, float> layer(64, 1000, &context_);
  for (const bool transposed : {false, true}) {
    layer.params().set_float_sums(FloatSums::kInOrder);
    const auto in_order = layer.Run(0, 1, Weights::kPlain, transposed, 1);
    const std::string kernel = context_.last_used_kernel();
    layer.params().set_float_sums(FloatSums::kAnyOrder);
    const auto any_order = layer.Run(0, 1, Weights::kPlain, transposed, 1);
    if ((GetParam() & (Path::kPortable | kPathsOfPanels)) != Path::kNone) {
      EXPECT_EQ(kernel, context_.last_used_kernel());
      EXPECT_EQ(any_order, in_order);
    } else {
      EXPECT_NE(kernel, context_.last_used_kernel());
      EXPECT_NE(any_order, in_order);
    }
  }
}

// A Context's order counts where the call leaves it open, and only there.
TEST_P(FloatSumsTest, OrderOfTheContext) {
  Layer<float, float, float, float> layer(64, 1000, &context_);
  const auto run = [&](FloatSums of_call, FloatSums of_context,
                       std::ptrdiff_t count) {
    layer.params().set_float_sums(of_call);
    context_.set_float_sums(of_context);
    return layer.Run(0, 1, Weights::kPlain, /*transposed=*/false, 1, count);
  };
  constexpr FloatSums kOrdered = FloatSums::kInOrder;
  constexpr FloatSums kAny = FloatSums::kAnyOrder;
  constexpr FloatSums kOpen = FloatSums::kOfContext;
  EXPECT_EQ((MulParams<float, float>().float_sums()), kOpen);
  EXPECT_EQ(context_.float_sums(), kOrdered);
  for (const std::ptrdiff_t count : {0, 2}) {  // Mul, MulBatch
    const auto in_order = run(kOrdered, kOrdered, count);
    const auto any_order = run(kAny, kOrdered, count);
    EXPECT_EQ(run(kOrdered, kAny, count), in_order);
    EXPECT_EQ(run(kOpen, kOrdered, count), in_order);
    EXPECT_EQ(run(kOpen, kAny, count), any_order);
    EXPECT_EQ(run(kOpen, kOpen, count), in_order);
    EXPECT_EQ(context_.float_sums(), kOrdered);
  }
}

}  // namespace
}  // namespace ruy_like
