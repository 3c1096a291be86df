// Every allocation and every start of a thread fails once, or from some point
// on, in every kind of call: what comes back is a Status or a right result, dst
// is untouched after an error, nothing leaks, and the next call works.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/executor.h"
#include "ruy_like/float16.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/os/process.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/reference_mul.h"
#include "ruy_like/thread_pool.h"
#include "test/support/call_of.h"
#include "test/support/fail_each.h"
#include "test/support/heap.h"
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

// The operands of a product and what comes out. Of small values, so that floats
// are exact too.
template <typename Src_, typename Dst_>
struct Operands {
  using Src = Src_;
  using Dst = Dst_;
  using Params = MulParams<Dst, Dst>;

  Operands(std::ptrdiff_t rows_, std::ptrdiff_t depth_, std::ptrdiff_t cols_)
      : rows(rows_),
        depth(depth_),
        cols(cols_),
        lhs_data(RandomVector<Src>(rows * depth, -128, 127, 1)),
        rhs_data(RandomVector<Src>(depth * cols, -128, 127, 2)),
        expected(rows * cols) {
    auto dst = MakeMatrix(expected.data(), rows, cols, Order::kColMajor);
    ReferenceMul(Lhs(), Rhs(), Params(), &dst);
  }
  Matrix<Src> Lhs() const {
    auto lhs = MakeMatrix(lhs_data.data(), rows, depth, Order::kRowMajor);
    if constexpr (std::is_integral<Src>::value) lhs.set_zero_point(5);
    return lhs;
  }
  Matrix<Src> Rhs() const {
    auto rhs = MakeMatrix(rhs_data.data(), depth, cols, Order::kColMajor);
    if constexpr (std::is_integral<Src>::value) rhs.set_zero_point(-3);
    return rhs;
  }

  std::ptrdiff_t rows, depth, cols;
  std::vector<Src> lhs_data, rhs_data;
  std::vector<Dst> expected;
};

// A call's arguments. dst holds kPaint before it.
template <typename Operands>
struct Arguments {
  static constexpr typename Operands::Dst kPaint = 0x5a5a5a;

  explicit Arguments(const Operands& operands)
      : result(operands.rows * operands.cols, kPaint),
        lhs(operands.Lhs()),
        rhs(operands.Rhs()),
        dst(MakeMatrix(result.data(), operands.rows, operands.cols,
                       Order::kColMajor)) {}

  std::vector<typename Operands::Dst> result;
  Matrix<typename Operands::Src> lhs, rhs;
  Matrix<typename Operands::Dst> dst;
  typename Operands::Params params;
};

struct ThreadlessExecutor final : Executor {
  int max_concurrency() const override { return 4; }
  void ParallelFor(int count, void (*function)(void*, int),
                   void* argument) override {
    for (int i = 0; i < count; ++i) function(argument, i);
  }
};

// What a call has to work with. Made, and taken away, without faults.
template <typename Operands>
struct World {
  using Src = typename Operands::Src;

  World(const Operands& operands_, Path path)
      : operands(operands_), product(operands_) {
    context.set_runtime_enabled_paths(path | Path::kPortable);
    const auto bytes =
        PackedMatrixBytes(product.lhs, Side::kLhs, PackOptions(), &context);
    EXPECT_TRUE(bytes.ok() && AlignedBuffer::Allocate(*bytes, &buffer) &&
                AlignedBuffer::Allocate(*bytes, &image));
    const auto packed = PackInto(image.data(), image.bytes(), product.lhs,
                                 Side::kLhs, PackOptions(), &context);
    EXPECT_TRUE(packed.ok()) << packed.status();
    if (packed.ok()) packed_lhs = *packed;
  }
  void UseThreads(int count) {
    context.set_max_num_threads(count);
    context.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  }
  absl::Status Run() {
    return Mul(product.lhs, product.rhs, product.params, &context,
               &product.dst);
  }
  absl::Status RunPlan(int threads) {
    MulPlan plan;
    absl::Status status = plan.Prepare(product.lhs, product.rhs, product.params,
                                       threads, &context, &product.dst);
    if (status.ok()) status = plan.Run(0);
    if (status.ok()) status = plan.Finish();
    return status;
  }

  // The product as two or three of equally many columns; by MulBatch, or by a
  // MulPlan so many times.
  absl::Status RunBatch(int plan_runs = 0) {
    const std::ptrdiff_t count = operands.cols % 2 == 0 ? 2 : 3;
    const std::ptrdiff_t cols = operands.cols / count;
    auto rhs = product.rhs;
    auto dst = product.dst;
    rhs.mutable_layout()->set_cols(cols);
    dst.mutable_layout()->set_cols(cols);
    Batch batch;
    batch.count = count;
    batch.rhs_stride = cols * operands.depth;
    batch.dst_stride = cols * operands.rows;
    if (plan_runs == 0) {
      return MulBatch(product.lhs, rhs, product.params, batch, &context, &dst);
    }
    MulPlan plan;
    absl::Status status = plan.PrepareBatch(product.lhs, rhs, product.params,
                                            batch, 3, &context, &dst);
    if (!status.ok()) return status;
    for (int i = 0; i < plan_runs; ++i) {
      // From here on nothing can fail.
      EXPECT_EQ(i == 0 ? status : plan.Repeat(), absl::OkStatus());
      EXPECT_EQ(plan.Run(0), absl::OkStatus());
      EXPECT_EQ(plan.Finish(), absl::OkStatus());
    }
    return status;
  }
  // The product as two, of `first` columns and the others.
  absl::Status RunGroup(std::ptrdiff_t first) {
    using Dst = typename Operands::Dst;
    GroupProduct<Matrix<Src>, Matrix<Src>, Dst, Dst> products[2];
    for (int i = 0; i < 2; ++i) {
      const std::ptrdiff_t start = i * first;
      const std::ptrdiff_t cols = i == 0 ? first : operands.cols - first;
      auto& one = products[i];
      one = {product.lhs, product.rhs, product.params, product.dst};
      one.rhs.mutable_layout()->set_cols(cols);
      one.dst.mutable_layout()->set_cols(cols);
      one.rhs.set_data(product.rhs.data() + start * operands.depth);
      one.dst.set_data(product.dst.data() + start * operands.rows);
    }
    return MulGroup(products, &context);
  }

  const Operands& operands;
  Arguments<Operands> product;
  Context context;
  ThreadlessExecutor executor;
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

constexpr absl::StatusCode kOk = absl::StatusCode::kOk;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

template <typename World>
const Kind<World> kProductsAndPacking[] = {
    {"Blocks", kOk, true, Nothing, kRunMul},
    {"Threads", kOk, true, [](World* w) { w->UseThreads(3); }, kRunMul},
    {"Cached", kOk, true,
     [](World* w) {
       w->product.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
       w->product.rhs.set_cache_policy(CachePolicy::kAlwaysCache);
     },
     kRunMul},
    {"CachedOnThreads", kOk, true,
     [](World* w) {
       w->product.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
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
     [](World* w) {
       w->product.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
     },
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
       return Mul(w->packed_lhs, w->product.rhs, w->product.params, &w->context,
                  &w->product.dst);
     }},
    {"Pack", kOk, false, [](World* w) { w->UseThreads(3); },
     [](World* w) {
       return Pack(w->product.lhs, Side::kLhs, PackOptions(), &w->context);
     }},
    {"PackInto", kOk, false, Nothing,
     [](World* w) {
       return PackInto(w->buffer.data(), w->buffer.bytes(), w->product.lhs,
                       Side::kLhs, PackOptions(), &w->context);
     }},
    {"PackedMatrixBytes", kOk, false, Nothing,
     [](World* w) {
       return PackedMatrixBytes(w->product.lhs, Side::kLhs, PackOptions(),
                                &w->context);
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
      PackOptions options;
      options.pack_for = PackFor::kInt7Operand;
      const auto packed =
          Pack(w->product.lhs, Side::kLhs, options, &w->context);
      if (!packed.ok()) return packed.status();
      return Mul(*packed, w->product.rhs, w->product.params, &w->context,
                 &w->product.dst);
    }};

// Whose messages take memory.
const Kind<Int8World> kErrors[] = {
    {"BadStride", kInvalid, false,
     [](Int8World* w) { w->product.lhs.mutable_layout()->set_stride(1); },
     kRunMul},
    {"BadShape", kInvalid, false,
     [](Int8World* w) { w->product.rhs.mutable_layout()->set_rows(1); },
     kRunMul},
    {"NullData", kInvalid, false,
     [](Int8World* w) {
       w->product.lhs.set_data(static_cast<std::int8_t*>(nullptr));
     },
     kRunMul},
    {"BadClamp", kInvalid, false,
     [](Int8World* w) {
       w->product.params.set_clamp_min(INT32_MAX);
       w->product.params.set_clamp_max(0);
     },
     kRunMul},
    {"Overlap", kInvalid, false, Nothing,
     [](Int8World* w) {
       auto dst = w->product.dst;
       dst.set_data(reinterpret_cast<std::int32_t*>(w->product.lhs.data()));
       return Mul(w->product.lhs, w->product.rhs, w->product.params,
                  &w->context, &dst);
     }},
    {"BatchOverlap", kInvalid, false, Nothing,
     [](Int8World* w) {
       Batch batch;
       batch.count = 2;
       return MulBatch(w->product.lhs, w->product.rhs, w->product.params, batch,
                       &w->context, &w->product.dst);
     }},
    {"BatchPlanOverlap", kInvalid, false, Nothing,
     [](Int8World* w) {
       MulPlan plan;
       Batch batch;
       batch.count = 2;
       return plan.PrepareBatch(w->product.lhs, w->product.rhs,
                                w->product.params, batch, 2, &w->context,
                                &w->product.dst);
     }},
    {"RepeatOfNothing", absl::StatusCode::kFailedPrecondition, false, Nothing,
     [](Int8World*) { return MulPlan().Repeat(); }},
    {"GroupBeyondDst", kInvalid, false, Nothing,
     [](Int8World* w) { return w->RunGroup(-1); }},
    {"NullContext", kInvalid, false, Nothing,
     [](Int8World* w) {
       return Mul(w->product.lhs, w->product.rhs, w->product.params,
                  static_cast<Context*>(nullptr), &w->product.dst);
     }},
    {"NullFunction", kInvalid, false, Nothing,
     [](Int8World* w) { return w->context.ParallelFor(2, nullptr, nullptr); }},
    {"PackedForTheOtherSide", kInvalid, false, Nothing,
     [](Int8World* w) {
       return Mul(w->product.lhs, w->packed_lhs, w->product.params, &w->context,
                  &w->product.dst);
     }},
    {"PackForOtherTypes", kInvalid, false, Nothing,
     [](Int8World* w) {
       PackOptions options;
       options.pack_for = PackFor::kDoubleProduct;
       return Pack(w->product.lhs, Side::kLhs, options, &w->context);
     }},
    {"BytesForOtherTypes", kInvalid, false, Nothing,
     [](Int8World* w) {
       PackOptions options;
       options.pack_for = PackFor::kDoubleProduct;
       return PackedMatrixBytes(w->product.lhs, Side::kLhs, options,
                                &w->context);
     }},
    {"PackIntoTooLittle", kInvalid, false, Nothing,
     [](Int8World* w) {
       return PackInto(w->buffer.data(), 64, w->product.lhs, Side::kLhs,
                       PackOptions(), &w->context);
     }},
    {"MisalignedImage", kInvalid, false, Nothing,
     [](Int8World* w) {
       return PackedMatrix<std::int8_t>::FromBytes(
           static_cast<char*>(w->image.data()) + 1, 1000);
     }},
    {"ImageOfAnotherType", kInvalid, false, Nothing,
     [](Int8World* w) {
       return PackedMatrix<float>::FromBytes(w->image.data(), w->image.bytes());
     }},
    {"TruncatedImage", absl::StatusCode::kDataLoss, false, Nothing,
     [](Int8World* w) {
       return PackedMatrix<std::int8_t>::FromBytes(w->image.data(), 300);
     }},
    {"PlanWithoutThreads", kInvalid, false, Nothing,
     [](Int8World* w) { return w->RunPlan(0); }},
    {"PlanOfFewerThreads", kInvalid, false, Nothing,
     [](Int8World* w) {
       MulPlan plan;
       const absl::Status status =
           plan.Prepare(w->product.lhs, w->product.rhs, w->product.params, 2,
                        &w->context, &w->product.dst);
       return status.ok() ? plan.Run(2) : status;
     }},
    {"PlanThatIsNotPrepared", absl::StatusCode::kFailedPrecondition, false,
     Nothing,
     [](Int8World*) {
       MulPlan plan;
       absl::Status status = plan.Run(0);
       return status.ok() ? status : plan.Finish();
     }},
};

class FaultInjectionTest : public testing::TestWithParam<Path> {
 protected:
  // One kind of call with one set of failures. False once nothing failed.
  template <typename Operands>
  bool TryOnce(const Operands& operands, const Kind<World<Operands>>& kind,
               const Failures& failures) {
    World<Operands> world(operands, GetParam());
    kind.prepare(&world);
    long failed = 0;
    absl::Status status = CallWithFailures(kind, failures, &world, &failed);
    const std::vector<typename Operands::Dst> paint(
        world.product.result.size(), Arguments<Operands>::kPaint);
    EXPECT_TRUE(world.product.result ==
                (status.ok() && kind.writes_dst ? operands.expected : paint));
    world.product.result = paint;
    status = kind.call(&world);
    EXPECT_EQ(status.code(), kind.code) << "afterwards: " << status;
    if (kind.code == kOk && kind.writes_dst) {
      EXPECT_TRUE(world.product.result == operands.expected);
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
}

TEST_P(FaultInjectionTest, AllocationsOfUnpacking) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot fail here";
  EXPECT_GT(TryAll(int8_, kPackedForInt7, &Failures::first_allocation), 0);
}

TEST_P(FaultInjectionTest, AllocationsForMessages) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot fail here";
  for (const auto& kind : kErrors) {
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
