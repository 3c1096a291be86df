// Arguments that are wrong in rarer ways: arrays per channel that share memory
// with dst, enumerators that are none, a packed form over its own source.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kSize = 20;

// Bytes for dst and for what may share it.
struct Memory {
  Memory() : bytes(64 * kSize * kSize, 1) {}
  template <typename T>
  T* At(std::ptrdiff_t offset) {
    return reinterpret_cast<T*>(bytes.data() + offset);
  }
  std::vector<char> bytes;
};

template <typename Dst>
struct Call : Product<std::int8_t, std::int8_t, std::int32_t, Dst> {
  using Base = Product<std::int8_t, std::int8_t, std::int32_t, Dst>;
  explicit Call(Memory* memory) : Base(kSize, kSize, kSize) {
    // Columns of kSize elements, gaps of kSize.
    this->dst = MakeMatrix(memory->At<Dst>(4096), kSize, kSize,
                           Order::kColMajor, kSize);
  }
  absl::Status Run() { return Base::Run(&context); }

  Context context;
};

// Where an array of kSize 4-byte elements shares bytes with dst, of 4-byte
// elements in columns of 80 bytes every 160, from 4096 on.
struct Place {
  std::ptrdiff_t offset;
  absl::StatusCode code;
};
const Place kPlaces[] = {{4096 - 80, kOk},
                         {4096 - 76, kInvalid},
                         {4096, kInvalid},
                         {4096 + 80, kOk},  // the gap behind the first column
                         {4096 + 84, kInvalid},
                         {4096 + 19 * 160 + 76, kInvalid},
                         {4096 + 19 * 160 + 80, kOk}};

TEST(SharedArraysTest, Bias) {
  for (const auto dimension : kDimensions) {
    for (const Place& place : kPlaces) {
      Memory memory;
      Call<std::int32_t> call(&memory);
      call.params.set_channel_dimension(dimension);
      call.params.set_bias(memory.At<std::int32_t>(place.offset));
      const std::vector<char> before = memory.bytes;
      EXPECT_CODE(place.code, call.Run()) << place.offset;
      if (place.code != kOk) {
        EXPECT_TRUE(memory.bytes == before);
      }
    }
  }
}

TEST(SharedArraysTest, Scales) {
  for (const Place& place : kPlaces) {
    Memory memory;
    Call<float> rows(&memory), cols(&memory), bias(&memory);
    rows.params.set_lhs_scale_perrow(memory.At<float>(place.offset));
    EXPECT_CODE(place.code, rows.Run()) << place.offset;
    cols.params.set_rhs_scale_percol(memory.At<float>(place.offset));
    EXPECT_CODE(place.code, cols.Run()) << place.offset;
    bias.params.set_bias(memory.At<float>(place.offset));
    EXPECT_CODE(place.code, bias.Run()) << place.offset;
  }
}

TEST(SharedArraysTest, Multipliers) {
  const std::vector<std::int32_t> fixedpoint(kSize, 1 << 30);
  const std::vector<int> exponent(kSize, -3);
  for (const std::ptrdiff_t offset : {0, 4096}) {
    Memory memory;
    Call<std::int8_t> call(&memory);
    std::memcpy(memory.At<char>(offset), fixedpoint.data(), 4 * kSize);
    call.params.set_multiplier_fixedpoint_perchannel(
        memory.At<std::int32_t>(offset));
    call.params.set_multiplier_exponent_perchannel(exponent.data());
    EXPECT_CODE(offset == 0 ? kOk : kInvalid, call.Run());
    std::memcpy(memory.At<char>(offset), exponent.data(), 4 * kSize);
    call.params.set_multiplier_fixedpoint_perchannel(fixedpoint.data());
    call.params.set_multiplier_exponent_perchannel(memory.At<int>(offset));
    EXPECT_CODE(offset == 0 ? kOk : kInvalid, call.Run());
  }
}

TEST(UnknownEnumeratorsTest, AreRefused) {
  Memory memory;
  Call<std::int32_t> lhs(&memory), rhs(&memory), params(&memory);
  lhs.lhs.set_cache_policy(static_cast<CachePolicy>(4));
  EXPECT_CODE(kInvalid, lhs.Run());
  rhs.rhs.set_cache_policy(static_cast<CachePolicy>(200));
  EXPECT_CODE(kInvalid, rhs.Run());
  params.params.set_channel_dimension(static_cast<ChannelDimension>(2));
  EXPECT_CODE(kInvalid, params.Run());
}

TEST(PackIntoTest, NotOverItsOwnSource) {
  constexpr std::ptrdiff_t kDepth = 64, kWidth = 64;
  AlignedBuffer buffer;
  ASSERT_TRUE(AlignedBuffer::Allocate(1 << 16, &buffer));
  char* const bytes = static_cast<char*>(buffer.data());
  std::memset(bytes, 1, buffer.bytes());
  Context context;
  const auto pack_at = [&](std::ptrdiff_t source, std::ptrdiff_t target) {
    const auto matrix = RowMajorOf(
        reinterpret_cast<const std::int8_t*>(bytes + source), kWidth, kDepth);
    return PackInto(bytes + target, buffer.bytes() - target, matrix, Side::kLhs,
                    PackOptions(), &context);
  };
  EXPECT_CODE(kInvalid, pack_at(0, 0));
  EXPECT_CODE(kInvalid, pack_at(4096, 0));
  EXPECT_CODE(kInvalid, pack_at(0, 4096 - 64));
  EXPECT_EQ(bytes[4096 - 64], 1);  // nothing was written yet
  EXPECT_CODE(kOk, pack_at(0, 4096));
  EXPECT_CODE(kOk, pack_at(32768, 0));
}

}  // namespace
}  // namespace ruy_like
