// Every allocation and every start of a thread fails once, or from some point
// on, in every kind of call: what comes back is a Status or a right result, dst
// is untouched after an error, nothing leaks, and the next call works.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <type_traits>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/float16.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_experts.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/os/process.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/thread_pool.h"
#include "test/support/call_of.h"
#include "test/support/executors.h"
#include "test/support/fail_each.h"
#include "test/support/heap.h"
#include "test/support/product.h"
#include "test/support/test_util.h"
#include "test/support/unix.h"

#if RUY_LIKE_TEST_UNIX
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace ruy_like {
namespace {

// Starting 70 of them hundreds of times, under Wine or Node.
const bool kThreadsAreSlow = os::CanStartThreads() && !RUY_LIKE_TEST_UNIX;

// A product and what comes out, of small values, so that floats are exact too.
template <typename Src_, typename Dst_>
struct Operands : Product<Src_, Src_, Dst_, Dst_> {
  using Src = Src_;
  using Dst = Dst_;

  Operands(std::ptrdiff_t rows_, std::ptrdiff_t depth_, std::ptrdiff_t cols_)
      : Product<Src, Src, Dst, Dst>(rows_, depth_, cols_, Order::kColMajor,
                                    -128, 127),
        rows(rows_),
        depth(depth_),
        cols(cols_) {
    if constexpr (std::is_integral<Src>::value) {
      this->lhs.set_zero_point(5);
      this->rhs.set_zero_point(-3);
    }
    expected = this->Expected();
  }

  std::ptrdiff_t rows, depth, cols;
  std::vector<Dst> expected;
};

// The operands of a call. Made, and taken away, without faults. dst holds
// kPaint before the call.
template <typename Operands>
struct World {
  using Src = typename Operands::Src;
  using Dst = typename Operands::Dst;
  static constexpr Dst kPaint = 0x5a5a5a;

  World(const Operands& operands_, Path path)
      : operands(operands_),
        result(operands.expected.size(), kPaint),
        lhs(operands.lhs),
        rhs(operands.rhs),
        dst(operands.dst) {
    dst.set_data(result.data());
    context.set_runtime_enabled_paths(path | Path::kPortable);
    const auto bytes =
        PackedMatrixBytes(lhs, Side::kLhs, PackOptions(), &context);
    EXPECT_TRUE(bytes.ok() && AlignedBuffer::Allocate(*bytes, &buffer) &&
                AlignedBuffer::Allocate(*bytes, &image));
    const auto packed = PackInto(image.data(), image.bytes(), lhs, Side::kLhs,
                                 PackOptions(), &context);
    EXPECT_OK(packed);
    if (packed.ok()) packed_lhs = *packed;
  }
  void UseThreads(int count) { ruy_like::UseThreads(count, &context); }
  absl::Status Run() { return Mul(lhs, rhs, params, &context, &dst); }
  absl::Status RunPlan(int threads) {
    MulPlan plan;
    absl::Status status =
        plan.Prepare(lhs, rhs, params, threads, &context, &dst);
    if (status.ok()) status = plan.Run(0);
    if (status.ok()) status = plan.Finish();
    return status;
  }

  // The product as two or three of equally many columns; by MulBatch, or by a
  // MulPlan so many times.
  absl::Status RunBatch(int plan_runs = 0) {
    const std::ptrdiff_t count = operands.cols % 2 == 0 ? 2 : 3;
    const std::ptrdiff_t cols = operands.cols / count;
    auto part_rhs = rhs;
    auto part_dst = dst;
    part_rhs.mutable_layout()->set_cols(cols);
    part_dst.mutable_layout()->set_cols(cols);
    Batch batch;
    batch.count = count;
    batch.rhs_stride = cols * operands.depth;
    batch.dst_stride = cols * operands.rows;
    if (plan_runs == 0) {
      return MulBatch(lhs, part_rhs, params, batch, &context, &part_dst);
    }
    MulPlan plan;
    absl::Status status =
        plan.PrepareBatch(lhs, part_rhs, params, batch, 3, &context, &part_dst);
    if (!status.ok()) return status;
    for (int i = 0; i < plan_runs; ++i) {
      // From here on nothing can fail.
      EXPECT_OK(i == 0 ? status : plan.Repeat());
      EXPECT_OK(plan.Run(0));
      EXPECT_OK(plan.Finish());
    }
    return status;
  }
  // The product as two, of `first` columns and the others.
  absl::Status RunGroup(std::ptrdiff_t first) {
    BatchItem<Matrix<Src>, Matrix<Src>, Dst, Dst> products[2];
    for (int i = 0; i < 2; ++i) {
      const std::ptrdiff_t start = i * first;
      const std::ptrdiff_t cols = i == 0 ? first : operands.cols - first;
      auto& one = products[i];
      one = {lhs, rhs, params, dst};
      one.rhs.mutable_layout()->set_cols(cols);
      one.dst.mutable_layout()->set_cols(cols);
      one.rhs.set_data(rhs.data() + start * operands.depth);
      one.dst.set_data(dst.data() + start * operands.rows);
    }
    return MulGroup(products, &context);
  }

  const Operands& operands;
  std::vector<Dst> result;
  Matrix<Src> lhs, rhs;
  Matrix<Dst> dst;
  MulParams<Dst, Dst> params;
  Context context;
  TestExecutor executor{4, RunInOrder};
  AlignedBuffer buffer, image;
  PackedMatrix<Src> packed_lhs;
};

template <typename World>
struct Kind {
  const char* name;
  absl::StatusCode code;  // without faults
  bool writes_dst;        // where that is OK
  void (*prepare)(World* world);
  CallOf<World> call;
};

template <typename World>
void Nothing(World*) {}
constexpr auto kRunMul = [](auto* world) { return world->Run(); };

template <typename World>
const Kind<World> kProductsAndPacking[] = {
    {"Blocks", kOk, true, Nothing, kRunMul},
    {"Threads", kOk, true, [](World* w) { w->UseThreads(3); }, kRunMul},
    {"Cached", kOk, true,
     [](World* w) {
       w->lhs.set_cache_policy(CachePolicy::kAlwaysCache);
       w->rhs.set_cache_policy(CachePolicy::kAlwaysCache);
     },
     kRunMul},
    {"CachedOnThreads", kOk, true,
     [](World* w) {
       w->lhs.set_cache_policy(CachePolicy::kAlwaysCache);
       w->UseThreads(4);
     },
     kRunMul},
    {"ExecutorsThreads", kOk, true,
     [](World* w) {
       w->context.set_executor(&w->executor);
       w->UseThreads(4);
     },
     kRunMul},
    {"Plan", kOk, true,
     [](World* w) { w->lhs.set_cache_policy(CachePolicy::kAlwaysCache); },
     [](World* w) { return w->RunPlan(3); }},
    {"Batch", kOk, true, Nothing, [](World* w) { return w->RunBatch(); }},
    {"BatchOnThreads", kOk, true, [](World* w) { w->UseThreads(3); },
     [](World* w) { return w->RunBatch(); }},
    {"BatchPlan", kOk, true, Nothing, [](World* w) { return w->RunBatch(2); }},
    {"BatchPlanForThreads", kOk, true, [](World* w) { w->UseThreads(3); },
     [](World* w) { return w->RunBatch(2); }},
    {"Group", kOk, true, Nothing, [](World* w) { return w->RunGroup(30); }},
    {"GroupOnThreads", kOk, true, [](World* w) { w->UseThreads(3); },
     [](World* w) { return w->RunGroup(30); }},
    {"PackedLhs", kOk, true, Nothing,
     [](World* w) {
       return Mul(w->packed_lhs, w->rhs, w->params, &w->context, &w->dst);
     }},
    {"Pack", kOk, false, [](World* w) { w->UseThreads(3); },
     [](World* w) {
       return Pack(w->lhs, Side::kLhs, PackOptions(), &w->context);
     }},
    {"PackInto", kOk, false, Nothing,
     [](World* w) {
       return PackInto(w->buffer.data(), w->buffer.bytes(), w->lhs, Side::kLhs,
                       PackOptions(), &w->context);
     }},
    {"PackedMatrixBytes", kOk, false, Nothing,
     [](World* w) {
       return PackedMatrixBytes(w->lhs, Side::kLhs, PackOptions(), &w->context);
     }},
    {"FromBytes", kOk, false, Nothing,
     [](World* w) {
       return PackedMatrix<typename World::Src>::FromBytes(w->image.data(),
                                                           w->image.bytes());
     }},
};

using Int8World = World<Operands<std::int8_t, std::int32_t>>;

// More threads than the stack has tasks for (FixedArray in parallel.cc).
const Kind<Int8World> kManyThreads = {
    "ManyThreads", kOk, true, [](Int8World* w) { w->UseThreads(70); }, kRunMul};

// Packs weights of 2 bits, multiplies by them, and has them be two experts.
const Kind<Int8World> kGroupWeights = {
    "GroupWeights", kOk, false, [](Int8World* w) { w->UseThreads(3); },
    [](Int8World* w) {
      constexpr std::ptrdiff_t kRows = 300, kDepth = 48;
      static const std::int8_t table[4] = {-1, 0, 1, 2};
      static const std::uint8_t levels[kRows * kDepth / 4] = {};
      static const float scales[kRows] = {}, values[2 * kDepth] = {};
      static float result[2 * kRows];
      static const std::int8_t integers[2 * kDepth] = {}, zeros[2] = {1, 2};
      GroupWeights weights;
      weights.rows = kRows;
      weights.depth = kDepth;
      weights.bits = 2;
      weights.table = table;
      weights.levels = levels;
      weights.set_scales(scales);
      const auto packed = PackGroupWeights(weights, &w->context);
      if (!packed.ok()) return packed.status();
      auto dst = MakeMatrix(result, kRows, 2, Order::kColMajor);
      const absl::Status status =
          Mul(*packed, MakeMatrix(values, kDepth, 2, Order::kColMajor),
              GroupMulParams(), &w->context, &dst);
      if (!status.ok()) return status;
      GroupMulParams params;
      params.activation_zero_points = zeros;
      RUY_LIKE_RETURN_IF_ERROR(
          Mul(*packed, MakeMatrix(integers, kDepth, 2, Order::kColMajor),
              params, &w->context, &dst));
      static const std::int32_t counts[] = {2, 1}, columns[] = {0, 1, 1};
      ExpertRouting routing;
      routing.counts = counts;
      routing.sources = routing.targets = columns;
      const PackedGroupWeights experts[] = {*packed, *packed};
      std::fill(std::begin(result), std::end(result), 1.0f);
      const absl::Status of_experts =
          MulExperts(experts, MakeMatrix(values, kDepth, 2, Order::kColMajor),
                     routing, GroupMulParams(), &w->context, &dst);
      const float expected = of_experts.ok() ? 0 : 1;
      EXPECT_TRUE(std::all_of(std::begin(result), std::end(result),
                              [=](float x) { return x == expected; }));
      return of_experts;
    }};

// More calls than that, too.
const Kind<Int8World> kParallelFor = {
    "ParallelFor", kOk, false, [](Int8World* w) { w->UseThreads(70); },
    [](Int8World* w) {
      constexpr int kCount = 70;
      std::atomic<int> calls{0};
      const absl::Status status = w->context.ParallelFor(
          kCount,
          [](void* argument, int) {
            ++*static_cast<std::atomic<int>*>(argument);
          },
          &calls);
      EXPECT_EQ(calls, status.ok() ? kCount : 0);
      return status;
    }};

// Which unpacks what it has packed: the rhs is not int7.
const Kind<Int8World> kPackedForInt7 = {
    "PackedForInt7", kOk, true, Nothing, [](Int8World* w) {
      PackOptions options = {Order::kColMajor, PackFor::kInt7Operand};
      const auto packed = Pack(w->lhs, Side::kLhs, options, &w->context);
      if (!packed.ok()) return packed.status();
      return Mul(*packed, w->rhs, w->params, &w->context, &w->dst);
    }};

// Whose messages take memory.
Calls<Int8World> BadCalls() {
  Calls<Int8World> calls;
  calls.Invalid("BadStride", [](Int8World* w) {
    w->lhs.mutable_layout()->set_stride(1);
    return w->Run();
  });
  calls.Invalid("BadShape", [](Int8World* w) {
    w->rhs.mutable_layout()->set_rows(1);
    return w->Run();
  });
  calls.Invalid("NullData", [](Int8World* w) {
    w->lhs.set_data(static_cast<std::int8_t*>(nullptr));
    return w->Run();
  });
  calls.Invalid("BadClamp", [](Int8World* w) {
    w->params.set_clamp_min(INT32_MAX);
    w->params.set_clamp_max(0);
    return w->Run();
  });
  calls.Invalid("Overlap", [](Int8World* w) {
    auto dst = w->dst;
    dst.set_data(reinterpret_cast<std::int32_t*>(w->lhs.data()));
    return Mul(w->lhs, w->rhs, w->params, &w->context, &dst);
  });
  calls.Invalid("BatchOverlap", [](Int8World* w) {
    Batch batch;
    batch.count = 2;
    return MulBatch(w->lhs, w->rhs, w->params, batch, &w->context, &w->dst);
  });
  calls.Invalid("BatchPlanOverlap", [](Int8World* w) {
    MulPlan plan;
    Batch batch;
    batch.count = 2;
    return plan.PrepareBatch(w->lhs, w->rhs, w->params, batch, 2, &w->context,
                             &w->dst);
  });
  calls.Add("RepeatOfNothing", kPrecondition,
            [](Int8World*) { return MulPlan().Repeat(); });
  calls.Invalid("GroupBeyondDst", [](Int8World* w) { return w->RunGroup(-1); });
  calls.Invalid("NullContext", [](Int8World* w) {
    return Mul(w->lhs, w->rhs, w->params, static_cast<Context*>(nullptr),
               &w->dst);
  });
  calls.Invalid("NullFunction", [](Int8World* w) {
    return w->context.ParallelFor(2, nullptr, nullptr);
  });
  calls.Invalid("PackedForTheOtherSide", [](Int8World* w) {
    return Mul(w->lhs, w->packed_lhs, w->params, &w->context, &w->dst);
  });
  calls.Invalid("PackForOtherTypes", [](Int8World* w) {
    PackOptions options = {Order::kColMajor, PackFor::kDoubleProduct};
    return Pack(w->lhs, Side::kLhs, options, &w->context);
  });
  calls.Invalid("BytesForOtherTypes", [](Int8World* w) {
    const PackOptions options = {Order::kColMajor, PackFor::kDoubleProduct};
    return PackedMatrixBytes(w->lhs, Side::kLhs, options, &w->context);
  });
  calls.Invalid("PackIntoTooLittle", [](Int8World* w) {
    return PackInto(w->buffer.data(), 64, w->lhs, Side::kLhs, PackOptions(),
                    &w->context);
  });
  calls.Invalid("MisalignedImage", [](Int8World* w) {
    return PackedMatrix<std::int8_t>::FromBytes(
        static_cast<char*>(w->image.data()) + 1, 1000);
  });
  calls.Invalid("ImageOfAnotherType", [](Int8World* w) {
    return PackedMatrix<float>::FromBytes(w->image.data(), w->image.bytes());
  });
  calls.Add("TruncatedImage", kDataLoss, [](Int8World* w) {
    return PackedMatrix<std::int8_t>::FromBytes(w->image.data(), 300);
  });
  calls.Invalid("PlanWithoutThreads",
                [](Int8World* w) { return w->RunPlan(0); });
  calls.Invalid("PlanOfFewerThreads", [](Int8World* w) {
    MulPlan plan;
    const absl::Status status =
        plan.Prepare(w->lhs, w->rhs, w->params, 2, &w->context, &w->dst);
    return status.ok() ? plan.Run(2) : status;
  });
  calls.Add("PlanThatIsNotPrepared", kPrecondition, [](Int8World*) {
    MulPlan plan;
    absl::Status status = plan.Run(0);
    return status.ok() ? status : plan.Finish();
  });
  return calls;
}

class FaultInjectionTest : public testing::TestWithParam<Path> {
 protected:
  // One kind of call with one set of failures. False once nothing failed.
  template <typename Operands>
  bool TryOnce(const Operands& operands, const Kind<World<Operands>>& kind,
               const Failures& failures) {
    World<Operands> world(operands, GetParam());
    kind.prepare(&world);
    long failed = 0;
    const absl::Status status =
        CallWithFailures(kind, failures, &world, &failed);
    const std::vector<typename Operands::Dst> paint(world.result.size(),
                                                    World<Operands>::kPaint);
    EXPECT_TRUE(world.result ==
                (status.ok() && kind.writes_dst ? operands.expected : paint));
    world.result = paint;
    EXPECT_CODE(kind.code, kind.call(&world)) << "afterwards";
    if (kind.code == kOk && kind.writes_dst) {
      EXPECT_TRUE(world.result == operands.expected);
    }
    return failed > 0;
  }

  // Returns how many there were to fail, one at a time.
  template <typename Operands>
  long TryAll(const Operands& operands, const Kind<World<Operands>>& kind,
              long Failures::*first) {
    return FailEach(kind.name, first, [&](const Failures& failures) {
      return TryOnce(operands, kind, failures);
    });
  }

  template <typename Operands>
  void TryProductsAndPacking(const Operands& operands, long Failures::*first) {
    if (!kTestOwnsHeap) GTEST_SKIP() << "nothing can be made to fail here";
    if (first == &Failures::first_thread && !os::CanStartThreads()) {
      GTEST_SKIP() << "no threads here";
    }
    long sum = 0;
    for (const auto& kind : kProductsAndPacking<World<Operands>>) {
      sum += TryAll(operands, kind, first);
    }
    // Two kinds have threads; AMX's larger blocks keep two busy.
    EXPECT_GE(sum, 2);
  }

  void TryManyThreads(long Failures::*first) {
    if (!kTestOwnsHeap) GTEST_SKIP() << "nothing can be made to fail here";
    if (!os::CanStartThreads()) GTEST_SKIP() << "no threads here";
    if (kThreadsAreSlow) GTEST_SKIP() << "takes minutes here";
    if (GetParam() != Path::kPortable) GTEST_SKIP() << "fewer, larger blocks";
    const Operands<std::int8_t, std::int32_t> operands(400, 20, 400);
    EXPECT_GT(TryAll(operands, kManyThreads, first), 64);
  }

  // More than one block on every path.
  const Operands<std::int8_t, std::int32_t> int8_{140, 130, 100};
  const Operands<float, float> floats_{140, 130, 100};
  const Operands<BFloat16, float> bfloat16s_{140, 130, 100};
};
RUY_LIKE_INSTANTIATE_PER_PATH(FaultInjectionTest);

TEST_P(FaultInjectionTest, Allocations) {
  TryProductsAndPacking(int8_, &Failures::first_allocation);
}

TEST_P(FaultInjectionTest, AllocationsForManyThreads) {
  TryManyThreads(&Failures::first_allocation);
}

TEST_P(FaultInjectionTest, Threads) {
  TryProductsAndPacking(int8_, &Failures::first_thread);
}

TEST_P(FaultInjectionTest, ManyThreads) {
  TryManyThreads(&Failures::first_thread);
}

TEST_P(FaultInjectionTest, AllocationsOfFloatProducts) {
  TryProductsAndPacking(floats_, &Failures::first_allocation);
}

TEST_P(FaultInjectionTest, AllocationsOfBFloat16Products) {
  TryProductsAndPacking(bfloat16s_, &Failures::first_allocation);
}

TEST_P(FaultInjectionTest, ThreadsOfFloatProducts) {
  TryProductsAndPacking(floats_, &Failures::first_thread);
}

// Packed, the lhs takes more than 4 MiB: such buffers are mappings of their
// own.
TEST_P(FaultInjectionTest, AllocationsOfLargeProducts) {
  const Operands<float, float> operands(1056, 1000, 33);
  TryProductsAndPacking(operands, &Failures::first_allocation);
}

TEST_P(FaultInjectionTest, AllocationsOfParallelFor) {
  if (kThreadsAreSlow) GTEST_SKIP() << "takes minutes here";
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot fail here";
  EXPECT_GT(TryAll(int8_, kParallelFor, &Failures::first_allocation), 0);
  EXPECT_GT(TryAll(int8_, kGroupWeights, &Failures::first_allocation), 0);
}

TEST_P(FaultInjectionTest, AllocationsOfUnpacking) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot fail here";
  EXPECT_GT(TryAll(int8_, kPackedForInt7, &Failures::first_allocation), 0);
}

TEST_P(FaultInjectionTest, AllocationsForMessages) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot fail here";
  for (const auto& bad : BadCalls()) {
    const Kind<Int8World> kind = {bad.name, bad.code, /*writes_dst=*/false,
                                  Nothing, bad.call};
    TryAll(int8_, kind, &Failures::first_allocation);
  }
}

// The one thing that throws.
TEST_P(FaultInjectionTest, ConstructingAContext) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot fail here";
  for (long n = 0;; ++n) {
    Failures failures;
    failures.first_allocation = n;
    bool thrown = false;
    long failed = 0;
    {
      const FailureScope scope(failures);
      try {
        const Context context;
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      failed = scope.failed();
    }
    EXPECT_EQ(thrown, failed > 0);
    if (failed == 0) break;
  }
}

#if RUY_LIKE_TEST_UNIX

struct CountingTask final : Task {
  void Run() override { ++*runs; }
  std::atomic<int>* runs;
};

bool ExecuteRunsAll(ThreadPool* pool) {
  std::atomic<int> runs{0};
  CountingTask tasks[4];
  for (CountingTask& task : tasks) task.runs = &runs;
  pool->Execute(4, tasks);
  return runs == 4;
}

// A child's first Execute needs memory for what replaces its parent's workers.
TEST(ThreadPoolFaultTest, AfterAFork) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot fail here";
  ThreadPool pool;
  ASSERT_TRUE(ExecuteRunsAll(&pool));
  for (long n = 0; n < 12; ++n) {
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      bool right;
      {
        Failures failures;
        failures.first_allocation = n;
        failures.failing = n % 2 == 0 ? Failing::kOne : Failing::kAllFrom;
        const FailureScope scope(failures);
        right = ExecuteRunsAll(&pool) && pool.EnsureWorkers(2) >= 0;
      }
      right = right && ExecuteRunsAll(&pool) && pool.EnsureWorkers(2) >= 2;
      _exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "failure " << n << " status " << status;
  }
}

#endif  // RUY_LIKE_TEST_UNIX

}  // namespace
}  // namespace ruy_like
