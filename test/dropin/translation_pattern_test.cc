// Uses the drop-in in the way of two machine-translation engines.
//
// CTranslate2-like: a Context per thread, made when first needed; int8 x int8
// to raw int32 and float, either operand transposed, all sizes of a wider type
// than int; beta from a copy of dst.
//
// marian-like (also bergamot, slimt): int8 x int8 to int32 in the memory that
// is to hold the floats, then a pass of its own that scales and adds the bias;
// aligned buffers from ruy; constant weights cached, the cache's size watched.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "matrices.h"
#include "ruy/context.h"
#include "ruy/context_get_ctx.h"
#include "ruy/ctx.h"
#include "ruy/platform.h"
#include "ruy/prepacked_cache.h"
#include "ruy/ruy.h"
#include "ruy/system_aligned_alloc.h"

namespace {

using dropin_test::RandomValues;

// Element (row, col) of a packed matrix of `rows` rows and `cols` columns.
template <typename T>
T At(const std::vector<T>& data, bool transposed, int rows, int cols, int row,
     int col) {
  return data[transposed ? row + rows * col : cols * row + col];
}

ruy::Context* ThreadContext() {
  static thread_local std::unique_ptr<ruy::Context> context;
  if (context == nullptr) context.reset(new ruy::Context());
  return context.get();
}

template <typename In, typename Out>
void Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
          std::int64_t k, const In* a, const In* b, Out* c) {
  ruy::Matrix<In> lhs;
  ruy::MakeSimpleLayout(
      m, k, transpose_a ? ruy::Order::kColMajor : ruy::Order::kRowMajor,
      lhs.mutable_layout());
  lhs.set_data(a);
  ruy::Matrix<In> rhs;
  ruy::MakeSimpleLayout(
      k, n, transpose_b ? ruy::Order::kColMajor : ruy::Order::kRowMajor,
      rhs.mutable_layout());
  rhs.set_data(b);
  ruy::Matrix<Out> dst;
  ruy::MakeSimpleLayout(m, n, ruy::Order::kRowMajor, dst.mutable_layout());
  dst.set_data(c);
  ruy::MulParams<Out, Out> mul_params;
  ruy::Mul(lhs, rhs, mul_params, ThreadContext(), &dst);
}

template <typename In, typename Out>
void CheckGemm(bool transpose_a, bool transpose_b) {
  constexpr int kM = 9, kN = 17, kK = 30;
  const auto a = RandomValues<In>(kM * kK, 1);
  const auto b = RandomValues<In>(kK * kN, 2);
  std::vector<Out> c(kM * kN);
  Gemm(transpose_a, transpose_b, kM, kN, kK, a.data(), b.data(), c.data());
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      Out sum = 0;
      for (int l = 0; l < kK; ++l) {
        sum += static_cast<Out>(At(a, transpose_a, kM, kK, i, l)) *
               static_cast<Out>(At(b, transpose_b, kK, kN, l, j));
      }
      EXPECT_NEAR(c[i * kN + j], sum, 1e-5) << i << " " << j;
    }
  }
}

TEST(CTranslate2PatternTest, AllTranspositions) {
  ThreadContext()->set_max_num_threads(2);
  for (bool transpose_a : {false, true}) {
    for (bool transpose_b : {false, true}) {
      CheckGemm<std::int8_t, std::int32_t>(transpose_a, transpose_b);
      CheckGemm<float, float>(transpose_a, transpose_b);
    }
  }
}

TEST(CTranslate2PatternTest, ContextsEndWithTheirThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      ThreadContext()->set_max_num_threads(2);
      CheckGemm<std::int8_t, std::int32_t>(false, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A buffer that ruy allocates.
template <typename T>
class AlignedVector {
 public:
  explicit AlignedVector(std::size_t size)
      : size_(size),
        data_(reinterpret_cast<T*>(
            ruy::detail::SystemAlignedAlloc(sizeof(T) * size))) {}
  AlignedVector(const AlignedVector&) = delete;
  AlignedVector& operator=(const AlignedVector&) = delete;
  ~AlignedVector() { ruy::detail::SystemAlignedFree(data_); }
  T* data() { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  T* data_;
};

TEST(MarianPatternTest, Int32InPlaceThenDequantize) {
  constexpr unsigned kRows = 7, kWidth = 64, kCols = 24;
  constexpr float kScale = 1.0f / 128;
  AlignedVector<std::int8_t> a(kRows * kWidth), b(kWidth * kCols);
  AlignedVector<float> output(kRows * kCols);
  ASSERT_NE(output.data(), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(output.data()) % 64, 0u);
  std::memcpy(a.data(), RandomValues<std::int8_t>(a.size(), 1).data(),
              a.size());
  std::memcpy(b.data(), RandomValues<std::int8_t>(b.size(), 2).data(),
              b.size());
  const auto bias = RandomValues<float>(kCols, 3);

  ruy::Context context;
  ruy::Matrix<std::int8_t> lhs;
  ruy::MakeSimpleLayout(kRows, kWidth, ruy::Order::kRowMajor,
                        lhs.mutable_layout());
  lhs.set_data(a.data());
  ruy::Matrix<std::int8_t> rhs;
  ruy::MakeSimpleLayout(kWidth, kCols, ruy::Order::kColMajor,
                        rhs.mutable_layout());
  rhs.set_data(b.data());
  rhs.set_cache_policy(ruy::CachePolicy::kAlwaysCache);
  ruy::Matrix<std::int32_t> dst;
  ruy::MakeSimpleLayout(kRows, kCols, ruy::Order::kRowMajor,
                        dst.mutable_layout());
  dst.set_data(reinterpret_cast<std::int32_t*>(output.data()));
  ruy::MulParams<std::int32_t, std::int32_t> mul_params;
  ruy::Mul(lhs, rhs, mul_params, &context, &dst);
  const long long bytes = static_cast<long long>(
      ruy::get_ctx(&context)->GetPrepackedCache()->BuffersBytes());
  EXPECT_GE(bytes, 0);

  for (unsigned i = 0; i < kRows * kCols; ++i) {
    std::int32_t value;
    std::memcpy(&value, &output.data()[i], sizeof(value));
    output.data()[i] = static_cast<float>(value) * kScale + bias[i % kCols];
  }
  for (unsigned i = 0; i < kRows; ++i) {
    for (unsigned j = 0; j < kCols; ++j) {
      std::int32_t sum = 0;
      for (unsigned k = 0; k < kWidth; ++k) {
        sum += a.data()[i * kWidth + k] * b.data()[j * kWidth + k];
      }
      EXPECT_EQ(output.data()[i * kCols + j],
                static_cast<float>(sum) * kScale + bias[j]);
    }
  }
  context.ClearPrepackedCache();
  EXPECT_EQ(ruy::get_ctx(&context)->GetPrepackedCache()->BuffersBytes(), 0);
}

}  // namespace
