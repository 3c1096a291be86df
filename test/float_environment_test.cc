// The caller's floating-point environment, its rounding mode, unmasked
// exceptions and sticky flags: no result depends on it, no thread is killed by
// it, and the library leaves it as it was. Runs under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/thread_pool.h"
#include "test/support/executors.h"
#include "test/support/on_threads.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr int kRoundingModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
                                  FE_TOWARDZERO};

// Windows counts x86's denormal operand to them, which the C standard does not
// know: converting a clamp bound that is one raises it in the caller's code.
#if defined(FE_DENORMAL)
constexpr int kStandardExceptions = FE_ALL_EXCEPT & ~FE_DENORMAL;
#else
constexpr int kStandardExceptions = FE_ALL_EXCEPT;
#endif

// glibc's way to have exceptions trap, where the machine can: x86 alone here.
#if defined(__GLIBC__) && defined(__x86_64__)
constexpr bool kCanTrap = true;
void TrapAll() { feenableexcept(FE_ALL_EXCEPT); }
void TrapNone() { fedisableexcept(FE_ALL_EXCEPT); }
int Trapped() { return fegetexcept(); }
#else
constexpr bool kCanTrap = false;
void TrapAll() {}
void TrapNone() {}
int Trapped() { return 0; }
#endif

// Restores the default environment, whatever a test has done to it.
struct EnvironmentGuard {
  ~EnvironmentGuard() { std::fesetenv(FE_DFL_ENV); }
};

// A product of such values.
template <typename Src, typename Accum, typename Dst>
struct ProductOf : Product<Src, Src, Accum, Dst> {
  ProductOf(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols,
            const std::function<Src(Rng*)>& value)
      : Product<Src, Src, Accum, Dst>(rows, depth, cols) {
    Rng rng(7);
    for (Src& element : this->lhs_values) element = value(&rng);
    for (Src& element : this->rhs_values) element = value(&rng);
  }

  std::string MulOn(Context* context) { return Result(this->Run(context)); }
  std::string PlanOn(Context* context) {
    MulPlan plan;
    absl::Status status = this->Prepare(2, context, &plan);
    if (status.ok()) status = plan.Run(1);
    if (status.ok()) status = plan.Run(0);
    if (status.ok()) status = plan.Finish();
    return Result(status);
  }
  std::string PackedOn(Context* context, const PackOptions& options) {
    auto packed = Pack(this->lhs, Side::kLhs, options, context);
    if (!packed.ok()) return packed.status().ToString();
    return Result(Mul(*packed, this->rhs, this->params, context, &this->dst));
  }

 private:
  // The bytes of dst, or the error.
  std::string Result(const absl::Status& status) {
    if (!status.ok()) return status.ToString();
    std::vector<Dst>& values = this->dst_values;
    const std::string bytes(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(Dst));
    values.assign(values.size(), Dst{});
    return bytes;
  }
};

float AnyFloat(Rng* rng) { return static_cast<float>(rng->Signed()); }
double AnyDouble(Rng* rng) { return rng->Signed(); }
std::int8_t AnyInt8(Rng* rng) {
  return static_cast<std::int8_t>(rng->Between(-128, 127));
}

// One product of each kind, large enough for several threads, and small.
struct AllKinds {
  static constexpr std::ptrdiff_t kRows = 140, kDepth = 75, kCols = 130;

  AllKinds() {
    scaled.params.set_lhs_scale(0.37f);
    scaled.params.set_rhs_scale(1.0f / 3);
    quantized.params.set_multiplier_fixedpoint(1234567890);
    quantized.params.set_multiplier_exponent(-7);
    floats.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  }
  std::vector<std::string> Run(Context* context) {
    std::vector<std::string> results = {
        floats.MulOn(context),
        doubles.MulOn(context),
        scaled.MulOn(context),
        quantized.MulOn(context),
        small.MulOn(context),
        column.MulOn(context),
        floats.PlanOn(context),
        scaled.PlanOn(context),
        small.PlanOn(context),
        floats.PackedOn(context, PackOptions()),
        scaled.PackedOn(context, PackOptions()),
        doubles.PackedOn(context, PackOptions())};
    context->ClearPrepackedCache();
    return results;
  }

  ProductOf<float, float, float> floats{kRows, kDepth, kCols, AnyFloat};
  ProductOf<double, double, double> doubles{kRows, kDepth, kCols, AnyDouble};
  ProductOf<std::int8_t, std::int32_t, float> scaled{kRows, kDepth, kCols,
                                                     AnyInt8};
  ProductOf<std::int8_t, std::int32_t, std::int8_t> quantized{kRows, kDepth,
                                                              kCols, AnyInt8};
  ProductOf<float, float, float> small{5, 6, 7, AnyFloat};
  ProductOf<float, float, float> column{300, 200, 1, AnyFloat};
};

class FloatEnvironmentTest : public PathTest {
 protected:
  FloatEnvironmentTest() {
    UseThreads(&context_);
    Restrict(&single_);
  }
  void UseThreads(Context* context) {
    Restrict(context);
    ruy_like::UseThreads(3, context);
  }
  const EnvironmentGuard guard_;
  // Runs small products in one block, which is a way of its own.
  Context single_;
};
RUY_LIKE_INSTANTIATE_PER_PATH(FloatEnvironmentTest);

// Workers are born while the first product runs, so each mode gets a Context
// whose first product is under it, and one whose workers are older.
TEST_P(FloatEnvironmentTest, TheRoundingModeDoesNotCount) {
  AllKinds kinds;
  const std::vector<std::string> expected = kinds.Run(&context_);
  EXPECT_TRUE(kinds.Run(&single_) == expected);
  for (const int mode : kRoundingModes) {
    SCOPED_TRACE(mode);
    Context fresh;
    UseThreads(&fresh);
    std::fesetround(mode);
    for (int repeat = 0; repeat < 3; ++repeat) {
      EXPECT_TRUE(kinds.Run(&fresh) == expected);
      EXPECT_TRUE(kinds.Run(&context_) == expected);
      EXPECT_TRUE(kinds.Run(&single_) == expected);
    }
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(kinds.Run(&fresh) == expected);
  }
}

// A Context and its workers die under it, too.
TEST_P(FloatEnvironmentTest, UnmaskedExceptionsDoNotTrap) {
  if (!kCanTrap) GTEST_SKIP() << "nothing traps here";
  AllKinds kinds;
  const std::vector<std::string> expected = kinds.Run(&context_);
  TrapAll();
  bool all_right = true;
  for (int repeat = 0; repeat < 3; ++repeat) {
    Context fresh;
    UseThreads(&fresh);
    fresh.mutable_thread_pool()->set_spin_milliseconds(0.3f);
    all_right = all_right && kinds.Run(&fresh) == expected &&
                kinds.Run(&context_) == expected &&
                kinds.Run(&single_) == expected;
  }
  const int trapped = Trapped();
  TrapNone();
  EXPECT_TRUE(all_right);
  EXPECT_EQ(trapped, FE_ALL_EXCEPT);
}

// Workers whose creator had exceptions unmasked, infinities and NaN later.
TEST_P(FloatEnvironmentTest, WorkersDoNotInheritTraps) {
  if (!kCanTrap) GTEST_SKIP() << "nothing traps here";
  AllKinds kinds;
  TrapAll();
  kinds.Run(&context_);
  TrapNone();
  ProductOf<float, float, float> hostile(200, 100, 200, [](Rng* rng) {
    return rng->OneIn(2) ? kInf : rng->OneIn(2) ? -kInf : 0.0f;
  });
  Context one_thread;
  Restrict(&one_thread);
  EXPECT_EQ(hostile.MulOn(&context_).size(), hostile.MulOn(&one_thread).size());
}

TEST_P(FloatEnvironmentTest, StickyFlagsStayAsTheyWere) {
  AllKinds kinds;
  for (const int flags : {0, int{FE_DIVBYZERO}, int{FE_INEXACT | FE_INVALID}}) {
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(flags);
    kinds.Run(&context_);
    kinds.Run(&single_);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), flags);
  }
}

// With all exceptions unmasked. None may be seen afterwards.
template <typename Product>
void ExpectCode(absl::StatusCode code, Product* product, Context* context) {
  std::feclearexcept(FE_ALL_EXCEPT);
  TrapAll();
  const absl::Status status = product->Run(context);
  TrapNone();
  EXPECT_CODE(code, status);
  EXPECT_EQ(std::fetestexcept(kStandardExceptions), 0);
}

TEST_P(FloatEnvironmentTest, ANanClampIsToldNotTrapped) {
  ProductOf<float, float, float> product(5, 6, 7, AnyFloat);
  product.params.set_clamp_min(kNan);
  ExpectCode(kInvalid, &product, &context_);
}

// Numbers in a message are computed: inexactly.
TEST_P(FloatEnvironmentTest, BadClampsAreToldNotTrapped) {
  ProductOf<float, float, float> product(5, 6, 7, AnyFloat);
  const struct {
    float min, max;
  } clamps[] = {{1.1f, 0.7f}, {3.3e-5f, -2.9e33f}, {1e-45f, -1e-45f}};
  for (const auto& clamp : clamps) {
    product.params.set_clamp_min(clamp.min);
    product.params.set_clamp_max(clamp.max);
    ExpectCode(kInvalid, &product, &context_);
  }
}

// What is scalar in a call passes through the caller's own code before the
// library masks anything; a signalling NaN raises FE_INVALID in any arithmetic,
// conversions and comparisons included.
template <typename T>
void ExpectSignallingNansAreTold(Context* context) {
  // At run time: compilers make constants of them quiet.
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  T signalling = std::numeric_limits<T>::infinity();
  Bits bits;
  std::memcpy(&bits, &signalling, sizeof(T));
  volatile Bits mantissa = 1;
  bits |= mantissa;
  std::memcpy(&signalling, &bits, sizeof(T));

  using P = ProductOf<T, T, T>;
  const std::function<void(P*)> settings[] = {
      [=](P* product) { product->params.set_clamp_min(signalling); },
      [=](P* product) { product->params.set_clamp_max(signalling); },
      [=](P* product) { product->lhs.set_zero_point(signalling); },
      [=](P* product) { product->dst.set_zero_point(signalling); },
      [=](P* product) { product->params.set_beta(signalling); }};
  for (const auto& set : settings) {
    const bool is_beta = &set == &settings[4];
    SCOPED_TRACE(&set - settings);
    P product(5, 6, 7, [](Rng* rng) { return static_cast<T>(rng->Signed()); });
    set(&product);
    ExpectCode(is_beta ? kOk : kInvalid, &product, context);
    EXPECT_EQ(std::isnan(product.dst.data()[0]), is_beta);
  }
}

TEST_P(FloatEnvironmentTest, SignallingNansAreToldNotTrapped) {
  ExpectSignallingNansAreTold<float>(&context_);
  ExpectSignallingNansAreTold<double>(&context_);
}

// Denormals among a matrix that is packed ahead count as zero, as for Mul. They
// are the lhs alone: a rhs of zeros would hide what became of them.
TEST_P(FloatEnvironmentTest, PackingTreatsDenormalsAsMulDoes) {
  constexpr std::ptrdiff_t kRows = 40, kDepth = 30, kCols = 20;
  std::ptrdiff_t denormals_left = kRows * kDepth;
  ProductOf<float, double, double> product(kRows, kDepth, kCols, [&](Rng* rng) {
    if (denormals_left-- <= 0) return AnyFloat(rng);
    return std::numeric_limits<float>::denorm_min() *
           static_cast<float>(rng->Between(1, 1000));
  });
  const PackOptions options = {Order::kColMajor, PackFor::kDoubleProduct};
  const std::string expected = product.MulOn(&context_);
  EXPECT_TRUE(product.PackedOn(&context_, options) == expected);
}

// A host's threads may be in any state, and keep it.
TEST_P(FloatEnvironmentTest, ExecutorsThreads) {
  TestExecutor executor(3, [](int count, Function function, void* argument) {
    OnThreads(count, [=](int i) {
      const int mode = kRoundingModes[i % 4];
      std::fesetround(mode);
      std::feclearexcept(FE_ALL_EXCEPT);
      TrapAll();
      function(argument, i);
      EXPECT_EQ(Trapped(), kCanTrap ? FE_ALL_EXCEPT : 0);
      TrapNone();
      EXPECT_EQ(std::fegetround(), mode);
      EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
    });
  });
  AllKinds kinds;
  const std::vector<std::string> expected = kinds.Run(&context_);
  context_.set_executor(&executor);
  EXPECT_TRUE(kinds.Run(&context_) == expected);
}

// A host's own tasks begin in the default state on workers, whoever was the
// first to call.
TEST_P(FloatEnvironmentTest, WorkersAreBornInTheDefaultState) {
  struct Probe final : Task {
    void Run() override {
      thread = std::this_thread::get_id();
      mode = std::fegetround();
      trapped = Trapped();
    }
    std::thread::id thread;
    int mode = -1, trapped = -1;
  };
  AllKinds kinds;
  std::fesetround(FE_UPWARD);
  TrapAll();
  kinds.Run(&context_);
  Probe probes[3];
  context_.mutable_thread_pool()->Execute(3, probes);
  TrapNone();
  std::fesetround(FE_TONEAREST);
  for (const Probe& probe : probes) {
    if (probe.thread == std::this_thread::get_id()) continue;
    EXPECT_EQ(probe.mode, FE_TONEAREST);
    EXPECT_EQ(probe.trapped, 0);
  }
}

}  // namespace
}  // namespace ruy_like
