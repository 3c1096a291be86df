// Nothing is allocated in the steady state, and memory does not grow.
//
// Counted are calls from any thread, operator new's too, and the bytes that are
// not freed yet (test/support/heap.h). Mappings count as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_experts.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/heap.h"
#include "test/support/product.h"
#include "test/support/test_util.h"
#include "test/support/unix.h"

namespace ruy_like {
namespace {

// A mix of types and shapes; some weights are cached.
struct Mix {
  Mix() {
    tiny_bytes.rhs.set_zero_point(10);
    tiny_cached.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
    bytes.lhs.set_zero_point(100);
    bytes.rhs.set_zero_point(10);
    cached.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
    cached_vector.lhs.set_cache_policy(CachePolicy::kCacheIfLargeSpeedup);
  }
  bool Run(Context* context) {
    return RunTiny(context) && bytes.Run(context).ok() &&
           floats.Run(context).ok() && deep.Run(context).ok() &&
           pieces.Run(context).ok() && wide.Run(context).ok() &&
           vector.Run(context).ok() && doubles.Run(context).ok() &&
           cached.Run(context).ok() && cached_vector.Run(context).ok();
  }
  // kTiny products that take well below a microsecond on most paths.
  static constexpr int kTiny = 4;
  bool RunTiny(Context* context) {
    return small.Run(context).ok() && tiny_bytes.Run(context).ok() &&
           tiny_floats.Run(context).ok() && tiny_cached.Run(context).ok();
  }

  Int8Product small{5, 6, 7}, tiny_cached{8, 16, 3}, cached{100, 200, 60};
  Product<std::uint8_t, std::int8_t, std::int32_t, std::int32_t> tiny_bytes{
      9, 8, 2};
  Product<std::uint8_t, std::uint8_t, std::int32_t, std::uint8_t> bytes{
      200, 100, 150};
  Product<std::int8_t, std::int16_t, std::int32_t, std::int16_t> wide{64, 64,
                                                                      500};
  RawProduct vector{500, 300, 1};
  Product<double, float, double, float> doubles{20, 30, 40};
  FloatProduct tiny_floats{4, 9, 4}, floats{100, 100, 100}, deep{30, 10000, 20};
  FloatProduct pieces{200, 1500, 60}, cached_vector{300, 200, 1};
};

class AllocationTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(AllocationTest);

#if RUY_LIKE_TEST_OWNS_HEAP

// A buffer that is a mapping of its own.
constexpr std::size_t kMappedBytes = std::size_t{8} << 20;

TEST(AllocationCountTest, Counts) {
  // Through volatile, or the compiler leaves out what has no use.
  struct alignas(256) Aligned {
    char bytes[256];
  };
  long before = AllocationCount();
  int* volatile plain = new int(1);
  EXPECT_GT(AllocationCount(), before) << "operator new";
  delete plain;
  before = AllocationCount();
  Aligned* volatile aligned = new Aligned;
  EXPECT_GT(AllocationCount(), before) << "aligned operator new";
  delete aligned;
  before = AllocationCount();
  AlignedBuffer mapped;
  ASSERT_TRUE(AlignedBuffer::Allocate(kMappedBytes, &mapped));
  EXPECT_GT(AllocationCount(), before) << "a mapping";
}

TEST(AllocationCountTest, CountsWhatIsNotFreed) {
  const long before = LiveBytes();
  char* volatile block = new char[5000];
  EXPECT_GE(LiveBytes() - before, 5000);
  delete[] block;
  EXPECT_EQ(LiveBytes(), before);
  {
    AlignedBuffer mapped;
    ASSERT_TRUE(AlignedBuffer::Allocate(kMappedBytes, &mapped));
    EXPECT_GE(LiveBytes() - before, static_cast<long>(kMappedBytes));
  }
  EXPECT_EQ(LiveBytes(), before);
}

// The first call may allocate, later ones may not.
template <typename Run>
void ExpectNoAllocationsOf(const Run& run) {
  ASSERT_TRUE(run());
  for (int round = 0; round < 5; ++round) {
    const long before = AllocationCount();
    const bool ok = run();
    const long after = AllocationCount();
    ASSERT_TRUE(ok);
    EXPECT_EQ(after - before, 0) << "round " << round;
  }
}

void ExpectNoAllocations(Context* context) {
  Mix mix;
  ExpectNoAllocationsOf([&] { return mix.Run(context); });
}

TEST_P(AllocationTest, OneThread) { ExpectNoAllocations(&context_); }

// On other systems a thread takes memory when it first runs, which may be late.
constexpr bool kThreadsCount = RUY_LIKE_TEST_UNIX;

TEST_P(AllocationTest, SeveralThreads) {
  if (!kThreadsCount) GTEST_SKIP() << "threads take memory themselves here";
  context_.set_max_num_threads(4);
  ExpectNoAllocations(&context_);
  UseThreads(4, &context_);
  ExpectNoAllocations(&context_);
}

// Each column of a product's by two experts, which are the same weights.
bool MulTwoExperts(const PackedMatrix<float>& weights, FloatProduct* product,
                   Context* context) {
  static std::vector<std::int32_t> columns;
  const auto cols = static_cast<std::int32_t>(product->rhs.layout().cols());
  if (columns.empty()) {
    for (int i = 0; i < 2 * cols; ++i) columns.push_back(i % cols);
  }
  const std::int32_t counts[] = {cols, cols};
  const PackedMatrix<float> experts[] = {weights, weights};
  ExpertRouting routing;
  routing.counts = counts;
  routing.sources = routing.targets = columns;
  return MulExperts(experts, product->rhs, routing, product->params, context,
                    &product->dst)
      .ok();
}

// Batches whose threads take whole products or blocks of them, groups, and
// experts.
void ExpectNoAllocationsOfBatches(Context* context) {
  FloatProduct tiny(4, 9, 400), large(200, 100, 160);
  const PackedMatrix<float> weights =
      *Pack(large.lhs, Side::kLhs, PackOptions(), context);
  ExpectNoAllocationsOf([&] {
    for (FloatProduct* product : {&tiny, &large}) {
      for (const std::ptrdiff_t count : {3, 40}) {
        const std::ptrdiff_t cols = product->rhs.layout().cols() / count;
        Matrix<float> rhs = product->rhs;
        Matrix<float> dst = product->dst;
        rhs.mutable_layout()->set_cols(cols);
        dst.mutable_layout()->set_cols(cols);
        Batch batch;
        batch.count = count;
        batch.rhs_stride = cols * rhs.layout().stride();
        batch.dst_stride = cols * dst.layout().stride();
        if (!MulBatch(product->lhs, rhs, product->params, batch, context, &dst)
                 .ok()) {
          return false;
        }
      }
    }
    const BatchItem<Matrix<float>, Matrix<float>, float, float> products[] = {
        {tiny.lhs, tiny.rhs, tiny.params, tiny.dst},
        {large.lhs, large.rhs, large.params, large.dst}};
    return MulGroup(products, context).ok() &&
           MulTwoExperts(weights, &large, context);
  });
}

TEST_P(AllocationTest, Batches) {
  ExpectNoAllocationsOfBatches(&context_);
  if (!kThreadsCount) return;
  context_.set_max_num_threads(4);
  ExpectNoAllocationsOfBatches(&context_);
  UseThreads(4, &context_);
  ExpectNoAllocationsOfBatches(&context_);
}

// Mixed products, half of the rounds on one thread and half on two; at times
// one that packs 12 MiB, which the arena gives back when it has needed little
// for long. Once both numbers of threads have been seen, a round leaves no more
// memory in use than those before.
TEST_P(AllocationTest, AMillionMixedCallsDoNotGrow) {
  constexpr int kRounds = 20;
  constexpr int kTinyPerRound = 1000000 / kRounds / Mix::kTiny;
  Mix mix;
  FloatProduct large(2000, 1500, 20);
  long expected = 0;
  for (int round = 0; round < kRounds; ++round) {
    context_.set_max_num_threads(1 + round % 2);
    ASSERT_OK(large.Run(&context_));
    for (int i = 0; i < kTinyPerRound; ++i) {
      const bool tiny_only = i % 4000 != 0;
      ASSERT_TRUE(tiny_only ? mix.RunTiny(&context_) : mix.Run(&context_));
    }
    if (round < 4) {
      expected = std::max<long>(expected, LiveBytes());
    } else {
      ASSERT_LE(LiveBytes(), expected) << "round " << round;
    }
  }
}

#else

TEST_P(AllocationTest, NotCountedHere) {
  GTEST_SKIP() << "no way to count allocations in this build";
}

#endif

}  // namespace
}  // namespace ruy_like
