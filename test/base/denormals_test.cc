#include "ruy_like/base/denormals.h"

#include <cfloat>
#include <thread>

#include "gtest/gtest.h"

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

TEST(ScopedSuppressDenormalsTest, FlushesInsideTheScopeOnly) {
  ASSERT_NE(Halve(FLT_MIN), 0.0f);
  {
    ScopedSuppressDenormals outer;
#if defined(__SSE2__) || defined(__aarch64__)
    EXPECT_EQ(Halve(FLT_MIN), 0.0f);
    // A denormal operand counts as zero, even where the result is normal.
    EXPECT_EQ(Multiply(FLT_MIN / 2, 0x1p30f), 0.0f);
#endif
    { ScopedSuppressDenormals inner; }
#if defined(__SSE2__) || defined(__aarch64__)
    EXPECT_EQ(Halve(FLT_MIN), 0.0f);
#endif
  }
  EXPECT_NE(Halve(FLT_MIN), 0.0f);
}

TEST(ScopedSuppressDenormalsTest, OtherThreadsAreNotTouched) {
  ScopedSuppressDenormals scope;
  bool flushed = true;
  std::thread([&flushed] {
#if defined(__SSE2__)
    _mm_setcsr(0x1f80);  // A new thread may inherit its creator's state.
#endif
    ScopedSuppressDenormals{};
    flushed = Halve(FLT_MIN) == 0.0f;
  }).join();
#if defined(__SSE2__)
  EXPECT_FALSE(flushed);
#endif
}

#if defined(__SSE2__)
TEST(ScopedSuppressDenormalsTest, RestoresTheWholeRegister) {
  const unsigned original = _mm_getcsr();
  // Rounding modes, exception flags, either flush bit alone.
  for (const unsigned csr : {0x1f80u, 0x1f80u | 0x6000u, 0x1f80u | 0x8000u,
                             0x1f80u | 0x0040u, 0x1f80u | 0x8040u, 0x1fbfu}) {
    _mm_setcsr(csr);
    {
      ScopedSuppressDenormals scope;
      EXPECT_EQ(_mm_getcsr() & 0xffc0u, (csr | 0x8040u) & 0xffc0u);
      Multiply(3.3f, 1.1f);  // raises the inexact flag
    }
    EXPECT_EQ(_mm_getcsr(), csr);
  }
  _mm_setcsr(original);
}

TEST(ScopedDefaultFloatStateTest, IsTheDefaultInsideTheScopeOnly) {
  const unsigned original = _mm_getcsr();
  for (const unsigned csr :
       {0x1f80u, 0x1f80u | 0x6000u, 0x1f80u | 0x8040u, 0x1fbfu, 0x0000u}) {
    _mm_setcsr(csr);
    unsigned inside;
    {
      ScopedDefaultFloatState scope;
      inside = _mm_getcsr();
      Multiply(3.3f, 1.1f);
    }
    const unsigned after = _mm_getcsr();
    _mm_setcsr(original);
    EXPECT_EQ(inside & 0xffc0u, 0x1f80u);
    EXPECT_EQ(after, csr);
  }
}
#endif

}  // namespace
}  // namespace ruy_like
