#include "ruy_like/base/float_state.h"

#include <cfenv>
#include <cfloat>
#include <thread>

#include "gtest/gtest.h"
#include "ruy_like/os/process.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ruy_like {
namespace {

// Computed when and where it stands, not by the compiler.
float Multiply(float a, float b) {
  volatile float x = a, y = b;
  volatile float product = x * y;
  return product;
}
float Halve(float value) { return Multiply(value, 0.5f); }

TEST(ScopedFloatStateTest, FlushesInsideTheScopeOnly) {
  ASSERT_NE(Halve(FLT_MIN), 0.0f);
  {
    const ScopedFloatState outer(FloatState::kOnlyFlushDenormals);
#if defined(__SSE2__) || defined(__aarch64__) || defined(__arm__)
    EXPECT_EQ(Halve(FLT_MIN), 0.0f);
    // A denormal operand counts as zero, even where the result is normal.
    EXPECT_EQ(Multiply(FLT_MIN / 2, 0x1p30f), 0.0f);
#endif
    { const ScopedFloatState inner(FloatState::kFlushDenormals); }
    { const ScopedFloatState inner(FloatState::kDefault); }
#if defined(__SSE2__) || defined(__aarch64__) || defined(__arm__)
    EXPECT_EQ(Halve(FLT_MIN), 0.0f);
#endif
  }
  EXPECT_NE(Halve(FLT_MIN), 0.0f);
}

TEST(ScopedFloatStateTest, OtherThreadsAreNotTouched) {
  if (!os::CanStartThreads()) GTEST_SKIP() << "no threads here";
  const ScopedFloatState scope(FloatState::kOnlyFlushDenormals);
  bool flushed = true;
  std::thread([&flushed] {
#if defined(__SSE2__)
    _mm_setcsr(0x1f80);  // A new thread may inherit its creator's state.
#endif
    { const ScopedFloatState inner(FloatState::kFlushDenormals); }
    flushed = Halve(FLT_MIN) == 0.0f;
  }).join();
#if defined(__SSE2__)
  EXPECT_FALSE(flushed);
#endif
}

#if defined(__SSE2__)
TEST(ScopedFloatStateTest, IsTheStateInsideTheScopeOnly) {
  const unsigned original = _mm_getcsr();
  // Control bits that the scope keeps, and those that it sets.
  const struct {
    FloatState state;
    unsigned kept, set;
  } states[] = {{FloatState::kOnlyFlushDenormals, 0xffc0u, 0x8040u},
                {FloatState::kDefault, 0, 0x1f80u},
                {FloatState::kFlushDenormals, 0, 0x9fc0u}};
  // Rounding modes, exception flags, either flush bit alone, no exception
  // masked.
  for (const unsigned csr :
       {0x1f80u, 0x1f80u | 0x6000u, 0x1f80u | 0x8000u, 0x1f80u | 0x0040u,
        0x1f80u | 0x8040u, 0x1fbfu, 0x0000u}) {
    for (const auto& expected : states) {
      // Would trap.
      if (csr == 0 && expected.kept != 0) continue;
      _mm_setcsr(csr);
      unsigned inside;
      {
        const ScopedFloatState scope(expected.state);
        inside = _mm_getcsr();
        Multiply(3.3f, 1.1f);  // raises the inexact flag
      }
      const unsigned after = _mm_getcsr();
      _mm_setcsr(original);
      EXPECT_EQ(inside & 0xffc0u, (csr & expected.kept) | expected.set);
      EXPECT_EQ(after, csr);
    }
  }
}
#endif

// What the standard library sees. WebAssembly has one rounding mode and no
// flags.
#ifdef FE_DIVBYZERO
TEST(ScopedFloatStateTest, RoundsToNearestAndRaisesNothing) {
  const float nearest = Multiply(3.3f, 1.1f);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_DIVBYZERO);
    // glibc's fegetround looks at x86's older unit.
    float inside;
    {
      const ScopedFloatState scope(FloatState::kFlushDenormals);
      inside = Multiply(3.3f, 1.1f);
    }
    const int after = std::fegetround();
    const int flags = std::fetestexcept(FE_ALL_EXCEPT);
    std::fesetenv(FE_DFL_ENV);
    EXPECT_EQ(inside, nearest);
    EXPECT_EQ(after, mode);
    EXPECT_EQ(flags, FE_DIVBYZERO);
  }
}
#endif

}  // namespace
}  // namespace ruy_like
