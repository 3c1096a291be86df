// Every allocation and every start of a thread fails once, or from some point
// on, in every kind of call: what comes back is a Status or a right result, dst
// is untouched after an error, nothing leaks, and the next call works.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/executor.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/reference_mul.h"
#include "ruy_like/thread_pool.h"
#include "test/support/heap.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// A product of int8 with all its memory. dst holds kPaint before a call.
struct Int8Problem {
  static constexpr std::int32_t kPaint = 0x5a5a5a5a;

  Int8Problem(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols)
      : lhs_data(RandomVector<std::int8_t>(rows * depth, -128, 127, 1)),
        rhs_data(RandomVector<std::int8_t>(depth * cols, -128, 127, 2)),
        expected(rows * cols),
        result(rows * cols, kPaint),
        lhs(MakeMatrix(lhs_data.data(), rows, depth, Order::kRowMajor)),
        rhs(MakeMatrix(rhs_data.data(), depth, cols, Order::kColMajor)),
        dst(MakeMatrix(expected.data(), rows, cols, Order::kColMajor)) {
    lhs.set_zero_point(5);
    rhs.set_zero_point(-3);
    ReferenceMul(lhs, rhs, params, &dst);
    dst.set_data(result.data());
  }

  std::vector<std::int8_t> lhs_data, rhs_data;
  std::vector<std::int32_t> expected, result;
  Matrix<std::int8_t> lhs, rhs;
  Matrix<std::int32_t> dst;
  MulParams<std::int32_t, std::int32_t> params;
};

struct ThreadlessExecutor final : Executor {
  int max_concurrency() const override { return 4; }
  void ParallelFor(int count, void (*function)(void*, int),
                   void* argument) override {
    for (int i = 0; i < count; ++i) function(argument, i);
  }
};

// What a call has to work with. Made, and taken away, without faults.
struct World {
  explicit World(Path path) {
    context.set_runtime_enabled_paths(path | Path::kPortable);
    buffer_is_there = AlignedBuffer::Allocate(1 << 16, &buffer) &&
                      AlignedBuffer::Allocate(1 << 16, &image);
    const auto packed = PackInto(image.data(), image.bytes(), product.lhs,
                                 Side::kLhs, PackOptions(), &context);
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

  Int8Problem product{70, 60, 50};
  Context context;
  ThreadlessExecutor executor;
  AlignedBuffer buffer, image;
  bool buffer_is_there;
  PackedMatrix<std::int8_t> packed_lhs;
};

struct Kind {
  const char* name;
  absl::StatusCode code;  // without faults
  bool writes_dst;        // where that is OK
  void (*prepare)(World* world);
  absl::Status (*call)(World* world);
};

void Nothing(World*) {}
absl::Status RunMul(World* world) { return world->Run(); }

constexpr absl::StatusCode kOk = absl::StatusCode::kOk;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

const Kind kKinds[] = {
    // ## Products
    {"Blocks", kOk, true, Nothing, RunMul},
    {"Threads", kOk, true, [](World* w) { w->UseThreads(3); }, RunMul},
    // More than the stack has tasks for.
    {"ManyThreads", kOk, true, [](World* w) { w->UseThreads(100); }, RunMul},
    {"Cached", kOk, true,
     [](World* w) {
       w->product.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
       w->product.rhs.set_cache_policy(CachePolicy::kAlwaysCache);
     },
     RunMul},
    {"CachedOnThreads", kOk, true,
     [](World* w) {
       w->product.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
       w->UseThreads(4);
     },
     RunMul},
    {"ExecutorsThreads", kOk, true,
     [](World* w) {
       w->context.set_executor(&w->executor);
       w->UseThreads(4);
     },
     RunMul},
    {"Plan", kOk, true,
     [](World* w) {
       w->product.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
     },
     [](World* w) { return w->RunPlan(3); }},
    {"PackedLhs", kOk, true, Nothing,
     [](World* w) {
       return Mul(w->packed_lhs, w->product.rhs, w->product.params, &w->context,
                  &w->product.dst);
     }},
    // ## Packing
    {"Pack", kOk, false, [](World* w) { w->UseThreads(3); },
     [](World* w) {
       return Pack(w->product.lhs, Side::kLhs, PackOptions(), &w->context)
           .status();
     }},
    {"PackInto", kOk, false, Nothing,
     [](World* w) {
       return PackInto(w->buffer.data(), w->buffer.bytes(), w->product.lhs,
                       Side::kLhs, PackOptions(), &w->context)
           .status();
     }},
    {"PackedMatrixBytes", kOk, false, Nothing,
     [](World* w) {
       return PackedMatrixBytes(w->product.lhs, Side::kLhs, PackOptions(),
                                &w->context)
           .status();
     }},
    {"FromBytes", kOk, false, Nothing,
     [](World* w) {
       return PackedMatrix<std::int8_t>::FromBytes(w->image.data(),
                                                   w->image.bytes())
           .status();
     }},
    // ## Errors, whose messages take memory
    {"BadStride", kInvalid, false,
     [](World* w) { w->product.lhs.mutable_layout()->set_stride(1); }, RunMul},
    {"BadShape", kInvalid, false,
     [](World* w) { w->product.rhs.mutable_layout()->set_rows(1); }, RunMul},
    {"NullData", kInvalid, false,
     [](World* w) {
       w->product.lhs.set_data(static_cast<std::int8_t*>(nullptr));
     },
     RunMul},
    {"BadClamp", kInvalid, false,
     [](World* w) {
       w->product.params.set_clamp_min(INT32_MAX);
       w->product.params.set_clamp_max(0);
     },
     RunMul},
    {"Overlap", kInvalid, false, Nothing,
     [](World* w) {
       auto dst = w->product.dst;
       dst.set_data(
           reinterpret_cast<std::int32_t*>(w->product.lhs_data.data()));
       return Mul(w->product.lhs, w->product.rhs, w->product.params,
                  &w->context, &dst);
     }},
    {"NullContext", kInvalid, false, Nothing,
     [](World* w) {
       return Mul(w->product.lhs, w->product.rhs, w->product.params,
                  static_cast<Context*>(nullptr), &w->product.dst);
     }},
    {"PackedForTheOtherSide", kInvalid, false, Nothing,
     [](World* w) {
       return Mul(w->product.lhs, w->packed_lhs, w->product.params, &w->context,
                  &w->product.dst);
     }},
    {"PackForOtherTypes", kInvalid, false, Nothing,
     [](World* w) {
       PackOptions options;
       options.pack_for = PackFor::kDoubleProduct;
       return Pack(w->product.lhs, Side::kLhs, options, &w->context).status();
     }},
    {"BytesForOtherTypes", kInvalid, false, Nothing,
     [](World* w) {
       PackOptions options;
       options.pack_for = PackFor::kDoubleProduct;
       return PackedMatrixBytes(w->product.lhs, Side::kLhs, options,
                                &w->context)
           .status();
     }},
    {"PackIntoTooLittle", kInvalid, false, Nothing,
     [](World* w) {
       return PackInto(w->buffer.data(), 64, w->product.lhs, Side::kLhs,
                       PackOptions(), &w->context)
           .status();
     }},
    {"MisalignedImage", kInvalid, false, Nothing,
     [](World* w) {
       return PackedMatrix<std::int8_t>::FromBytes(
                  static_cast<char*>(w->image.data()) + 1, 1000)
           .status();
     }},
    {"ImageOfAnotherType", kInvalid, false, Nothing,
     [](World* w) {
       return PackedMatrix<float>::FromBytes(w->image.data(), w->image.bytes())
           .status();
     }},
    {"TruncatedImage", absl::StatusCode::kDataLoss, false, Nothing,
     [](World* w) {
       return PackedMatrix<std::int8_t>::FromBytes(w->image.data(), 300)
           .status();
     }},
    {"PlanWithoutThreads", kInvalid, false, Nothing,
     [](World* w) { return w->RunPlan(0); }},
    {"PlanThatIsNotPrepared", absl::StatusCode::kFailedPrecondition, false,
     Nothing,
     [](World*) {
       MulPlan plan;
       absl::Status status = plan.Run(0);
       return status.ok() ? status : plan.Finish();
     }},
};

class FaultInjectionTest : public testing::TestWithParam<Path> {
 protected:
  // One kind of call with one set of failures. False once nothing failed.
  bool TryOnce(const Kind& kind, const Failures& failures) {
    World world(GetParam());
    kind.prepare(&world);
    absl::Status status;
    long failed = 0;
    {
      const FailureScope scope(failures);
      status = kind.call(&world);
      failed = scope.failed();
    }
    const std::vector<std::int32_t> paint(world.product.result.size(),
                                          Int8Problem::kPaint);
    if (status.ok()) {
      EXPECT_EQ(kind.code, kOk);
      EXPECT_TRUE(world.product.result ==
                  (kind.writes_dst ? world.product.expected : paint));
    } else {
      EXPECT_TRUE(
          status.code() == kind.code ||
          (failed > 0 && status.code() == absl::StatusCode::kResourceExhausted))
          << status;
      EXPECT_TRUE(world.product.result == paint);
    }
    world.product.result = paint;
    status = kind.call(&world);
    EXPECT_EQ(status.code(), kind.code) << "afterwards: " << status;
    if (kind.code == kOk && kind.writes_dst) {
      EXPECT_TRUE(world.product.result == world.product.expected);
    }
    return failed > 0;
  }

  void TryAll(const Kind& kind, long Failures::*first) {
    for (const Failing failing : {Failing::kOne, Failing::kAllFrom}) {
      for (long n = 0;; ++n) {
        SCOPED_TRACE(testing::Message()
                     << kind.name << ", failure " << n
                     << (failing == Failing::kOne ? "" : " and all after it"));
        Failures failures;
        failures.*first = n;
        failures.failing = failing;
        // What the C library keeps of threads that have ended grows for some
        // calls, a leak with each call.
        bool more = true;
        bool grows = true;
        for (int repeat = 0; grows && repeat < 10; ++repeat) {
          const long live_bytes = LiveBytes();
          more = TryOnce(kind, failures);
          grows = LiveBytes() > live_bytes;
        }
        EXPECT_FALSE(grows) << "leaks";
        if (!more || HasFailure()) break;
        ASSERT_LT(n, 1000);
      }
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(FaultInjectionTest);

TEST_P(FaultInjectionTest, Allocations) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot fail here";
  for (const Kind& kind : kKinds) {
    TryAll(kind, &Failures::first_allocation);
  }
}

TEST_P(FaultInjectionTest, Threads) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "threads cannot fail here";
  for (const Kind& kind : kKinds) TryAll(kind, &Failures::first_thread);
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

}  // namespace
}  // namespace ruy_like
