// PackedMatrix: right results by every way of packing. Its bytes have a test of
// their own, packed/packed_image_test.cc.
#include "ruy_like/packed_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/float16.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/packed/packed_image.h"
#include "ruy_like/packed/packed_layout.h"
#include "ruy_like/packed/packed_side.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/registry/registry.h"
#include "test/packed/packed_product.h"
#include "test/support/guarded_buffer.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr EntryPoint kPackedEntryPoints[] = {
    EntryPoint::kPackedLhs, EntryPoint::kPackedRhs, EntryPoint::kPackedBoth};

using PackedMatrixTest = PackedProductTest;
RUY_LIKE_INSTANTIATE_PER_PATH(PackedMatrixTest);

// ## Results

TEST_P(PackedMatrixTest, EveryTypeOrderAndSide) {
  for (const EntryPoint entry_point : kPackedEntryPoints) {
    for (const Order packed_for : kOrders) {
      CheckEach(AllTypes(), kAllOrders, {{21, 33, 19}}, &context_,
                [=](MulProblem* p, int) {
                  p->entry_point = entry_point;
                  p->packed_for = packed_for;
                  p->bias = BiasKind::kModerate;
                  if (Is8Bit(p->lhs.scalar)) p->lhs.zero_point = 7;
                  if (Is8Bit(p->rhs.scalar)) p->rhs.zero_point = 9;
                });
    }
  }
}

TEST_P(PackedMatrixTest, SizesAroundTheTiles) {
  constexpr Types kMixed = {Scalar::kU8, Scalar::kI8, Scalar::kI32,
                            Scalar::kI8};
  constexpr std::ptrdiff_t kSizes[] = {0, 1, 2, 15, 16, 17, 47, 48, 49, 65};
  for (const Types& types : {kMixed, kFloat}) {
    for (const std::ptrdiff_t rows : kSizes) {
      for (const std::ptrdiff_t cols : kSizes) {
        for (const std::ptrdiff_t depth : {0, 1, 4, 63, 65}) {
          for (const EntryPoint entry_point : kPackedEntryPoints) {
            MulProblem p = MakeProblem(types, {rows, depth, cols});
            p.entry_point = entry_point;
            p.packed_for = kOrders[(rows + cols + depth) % 2];
            SetOrders(static_cast<int>(rows + 3 * cols) % 8, &p);
            if (types.lhs == Scalar::kU8) p.lhs.zero_point = 131;
            ASSERT_TRUE(CheckProblem(p, &context_));
          }
        }
      }
    }
  }
}

// With blocks, several threads and depth that is split.
TEST_P(PackedMatrixTest, LargeProductsOnThreads) {
  constexpr Types kMixed = {Scalar::kI8, Scalar::kU8, Scalar::kI32,
                            Scalar::kI8};
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  for (const Types& types : {kMixed, kFloat}) {
    for (const EntryPoint entry_point : kPackedEntryPoints) {
      for (const Order packed_for : kOrders) {
        MulProblem p = MakeProblem(types, {150, 6000, 40});
        p.entry_point = entry_point;
        p.packed_for = packed_for;
        p.num_threads = 3;
        if (Is8Bit(types.rhs)) p.rhs.zero_point = 128;
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

// The kernel is the one that a cached operand gets, and so are a float's bits.
TEST_P(PackedMatrixTest, FloatsAreThoseOfACachedOperand) {
  const std::vector<float> weights = RandomReals<float>(100 * 300, 1);
  const std::vector<float> inputs = RandomReals<float>(300 * 20, 2);
  auto lhs = RowMajorOf(weights, 100, 300);
  lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  ASSERT_VALUE(auto packed_lhs, Pack(lhs, Side::kLhs, {}, &context_));
  for (const std::ptrdiff_t cols : {1, 2, 3, 20}) {
    const auto rhs = ColMajorOf(inputs, 300, cols);
    const auto cached = MulTo<float>(lhs, rhs, &context_);
    const std::string kernel = context_.last_used_kernel();
    EXPECT_TRUE(SameBits(MulTo<float>(packed_lhs, rhs, &context_), cached));
    EXPECT_EQ(context_.last_used_kernel(), kernel);
  }
}

// One packed form serves every width of the other side, with the kernel that a
// cached operand of the same width gets.
TEST_P(PackedMatrixTest, EveryWidthTakesTheCachedOperandsKernel) {
  const PackedMatrix<std::int8_t> packed = PackLhs(&context_);
  const auto inputs = RandomVector<std::uint8_t>(kDepth * 200, 3);
  auto cached = lhs_;
  cached.set_cache_policy(CachePolicy::kAlwaysCache);
  std::size_t bytes = 0;
  for (const std::ptrdiff_t cols : {200, 1, 2, 3, 4, 5, 8, 16, 17, 60}) {
    const auto rhs = ColMajorOf(inputs, kDepth, cols);
    const auto expected = MulTo<std::int32_t>(cached, rhs, &context_);
    const std::string kernel = context_.last_used_kernel();
    if (bytes == 0) bytes = context_.prepacked_cache_bytes();
    EXPECT_EQ(context_.prepacked_cache_bytes(), bytes) << cols << " columns";
    EXPECT_EQ(MulTo<std::int32_t>(packed, rhs, &context_), expected)
        << cols << " columns";
    EXPECT_EQ(context_.last_used_kernel(), kernel) << cols << " columns";
  }
}

TEST_P(PackedMatrixTest, OutlivesItsSourceAndItsContext) {
  const std::vector<std::int32_t> expected = Expected();
  PackedMatrix<std::int8_t> packed;
  {
    Context other;
    Restrict(&other);
    packed = PackLhs(&other);
  }
  std::fill(weights_.begin(), weights_.end(), std::int8_t{99});
  const PackedMatrix<std::int8_t> copy = packed;
  packed = PackedMatrix<std::int8_t>();
  EXPECT_EQ(ResultOf(copy), expected);
}

// ## Description

TEST_P(PackedMatrixTest, TellsWhatItIs) {
  for (const Order order : kOrders) {
    const PackOptions options = {order};
    const PackedMatrix<std::int8_t> packed = PackLhs(&context_, options);
    EXPECT_EQ(packed.rows(), kRows);
    EXPECT_EQ(packed.cols(), kDepth);
    EXPECT_EQ(packed.side(), Side::kLhs);
    EXPECT_EQ(packed.zero_point(), 3);
    EXPECT_EQ(packed.dst_order(), order);
    // A path without 8-bit kernels of its own has the one that it inherits.
    EXPECT_NE(packed.path(), Path::kNone);
    // Windows' GoogleTest has no sets in regular expressions.
    EXPECT_THAT(
        std::string(packed.layout_name()),
        testing::AnyOf(testing::StartsWith("S8 "), testing::StartsWith("U8 "),
                       testing::StartsWith("S16 ")));
  }
  const PackedMatrix<float> none;
  EXPECT_EQ(none.rows(), 0);
  EXPECT_EQ(none.path(), Path::kNone);
  EXPECT_EQ(none.layout_name(), "");
  EXPECT_TRUE(none.Serialize().empty());
}

TEST(PackedMatrixLayoutTest, LayoutsByPath) {
  struct Case {
    Path path;
    Order dst_order;
    const char* name;
  };
  const std::vector<std::int8_t> weights(20 * 20);
  const auto lhs = RowMajorOf(weights, 20, 20);
  for (const Case& c : {
           Case{Path::kPortable, Order::kColMajor, "S8 4x1"},
           Case{Path::kAvx2, Order::kColMajor, "S8 8x2"},
           Case{Path::kAvx2, Order::kRowMajor, "S16 6x2"},
           Case{Path::kAvx512Vnni, Order::kColMajor, "S8 16x4"},
           Case{Path::kAvx512Vnni, Order::kRowMajor, "U8 8x4"},
           Case{Path::kAmx, Order::kColMajor, "S8 16x4, depth by 64"},
           Case{Path::kNeon, Order::kColMajor, "S8 4x16"},
           Case{Path::kNeonDot, Order::kColMajor, "S8 4x4"},
           Case{Path::kNeonDot, Order::kRowMajor, "S8 8x4"},
           Case{Path::kNeonI8mm, Order::kColMajor, "S8 4x8"},
           Case{Path::kNeon32, Order::kColMajor, "S8 4x16"},
       }) {
    Context context;
    context.set_runtime_enabled_paths(c.path);
    if ((context.runtime_enabled_paths() & c.path) == Path::kNone) continue;
    const PackOptions options = {c.dst_order};
    ASSERT_VALUE(auto packed, Pack(lhs, Side::kLhs, options, &context));
    EXPECT_EQ(packed.path(), c.path);
    EXPECT_EQ(packed.layout_name(), c.name) << PathName(c.path);
  }
}

// What is packed for a bfloat16 operand is of a path of its own, where there is
// one, and refused where that is not permitted; on others it is as for floats.
TEST(PackedMatrixLayoutTest, ForABFloat16Operand) {
  const std::vector<BFloat16> weights(20 * 20);
  const auto lhs = RowMajorOf(weights, 20, 20);
  std::vector<float> result(20 * 20);
  auto dst = ColMajorOf(result, 20, 20);
  PackOptions options = {Order::kColMajor, PackFor::kBFloat16Operand};
  Context context;
  context.set_runtime_enabled_paths(Path::kPortable);
  ASSERT_VALUE(auto packed, Pack(lhs, Side::kLhs, options, &context));
  EXPECT_EQ(packed.layout_name(), "F32 4x1");
  struct Case {
    Path path, other;
    const char *widened, *name, *row_major;
  };
  for (const Case& c : {Case{Path::kAvx512Bf16, Path::kAvx512Vnni, "F32 16x1",
                             "BF16 16x2", "BF16 8x2"},
                        Case{Path::kNeonBf16, Path::kNeonI8mm, "F32 4x1",
                             "BF16 4x4", "BF16 8x4"}}) {
    context.set_runtime_enabled_paths(c.path);
    if ((context.runtime_enabled_paths() & c.path) == Path::kNone) continue;
    options.dst_order = Order::kColMajor;
    ASSERT_VALUE(packed, Pack(lhs, Side::kLhs, {}, &context));
    EXPECT_EQ(packed.layout_name(), c.widened);
    ASSERT_VALUE(packed, Pack(lhs, Side::kLhs, options, &context));
    EXPECT_EQ(packed.path(), c.path);
    EXPECT_EQ(packed.layout_name(), c.name);
    ASSERT_VALUE(const auto image,
                 PackedMatrix<BFloat16>::FromBytes(packed.Serialize().data(),
                                                   packed.Serialize().size(),
                                                   VerifyChecksum::kYes));
    EXPECT_OK(Mul(image, lhs, MulParams<float, float>(), &context, &dst));
    EXPECT_EQ(context.last_used_path(), c.path);
    options.dst_order = Order::kRowMajor;
    ASSERT_VALUE(const auto row_major,
                 Pack(lhs, Side::kLhs, options, &context));
    EXPECT_EQ(row_major.layout_name(), c.row_major);
    context.set_runtime_enabled_paths(c.other);
    const absl::Status status =
        Mul(packed, lhs, MulParams<float, float>(), &context, &dst);
    ExpectStatus(status, kPrecondition, {PathName(c.path)});
  }
}

// ## Buffers

TEST_P(PackedMatrixTest, PacksIntoTheCallersBuffer) {
  ASSERT_VALUE(auto bytes, PackedMatrixBytes(lhs_, Side::kLhs, {}, &context_));
  Matrix<std::int8_t> shape_alone = lhs_;
  shape_alone.set_data(nullptr);
  EXPECT_EQ(
      *PackedMatrixBytes(shape_alone, Side::kLhs, PackOptions(), &context_),
      bytes);
  // A multiple of the alignment, so that the end can touch a guard page.
  ASSERT_EQ(bytes % kBufferAlignment, 0u);
  GuardedBuffer buffer(bytes, Flush::kEnd);
  std::memset(buffer.data(), 0x77, bytes);
  ASSERT_VALUE(auto packed,
               PackInto(buffer.data(), bytes, lhs_, Side::kLhs, {}, &context_));
  EXPECT_TRUE(buffer.SlackIsIntact());
  EXPECT_EQ(packed.Serialize().data(), buffer.data());
  EXPECT_EQ(packed.Serialize(), PackLhs(&context_).Serialize());
  EXPECT_EQ(ResultOf(packed), Expected());

  const auto error = [&](std::size_t offset, std::size_t size) {
    return PackInto(buffer.data() + offset, size, lhs_, Side::kLhs,
                    PackOptions(), &context_)
        .status();
  };
  EXPECT_CODE(kInvalid, error(0, bytes - 1));
  ExpectStatus(error(8, bytes), kInvalid, {"aligned"});
  EXPECT_CODE(kInvalid, PackInto(nullptr, bytes, lhs_, Side::kLhs,
                                 PackOptions(), &context_));
}

TEST_P(PackedMatrixTest, TheBytesDoNotDependOnThreadsOrOrder) {
  // Many panels to a piece of the image; and many pieces, of a panel each.
  for (const auto& [rows, depth] : {std::pair(3000, 700), {300, 20000}}) {
    const auto weights = RandomVector<std::int8_t>(rows * depth, 3);
    std::vector<std::int8_t> transposed(weights.size());
    for (int r = 0; r < rows; ++r) {
      for (int k = 0; k < depth; ++k) {
        transposed[r * depth + k] = weights[k * rows + r];
      }
    }
    const auto col_major = ColMajorOf(weights, rows, depth);
    const auto row_major = RowMajorOf(transposed, rows, depth);
    context_.set_max_num_threads(1);
    ASSERT_VALUE(auto expected, Pack(row_major, Side::kLhs, {}, &context_));
    for (const int threads : {1, 4}) {
      UseThreads(threads, &context_);
      for (const auto* matrix : {&col_major, &row_major}) {
        ASSERT_VALUE(auto packed, Pack(*matrix, Side::kLhs, {}, &context_));
        // Megabytes, which a failure should not print.
        EXPECT_TRUE(packed.Serialize() == expected.Serialize())
            << rows << 'x' << depth << ", " << threads << " threads";
      }
    }
  }
}

// ## Errors

TEST_P(PackedMatrixTest, RefusesWhatDoesNotFit) {
  const auto bad = [&](const absl::Status& status, const char* what) {
    ExpectStatus(status, kInvalid, {what});
  };
  const auto pack_error = [&](const auto& matrix, Side side,
                              const PackOptions& options) {
    return Pack(matrix, side, options, &context_).status();
  };
  Matrix<std::int8_t> broken = lhs_;
  broken.set_data(nullptr);
  bad(pack_error(broken, Side::kLhs, {}), "null data");
  broken = lhs_;
  broken.mutable_layout()->set_stride(kDepth - 1);
  bad(pack_error(broken, Side::kLhs, {}), "stride");
  broken = lhs_;
  broken.mutable_layout()->set_rows(-1);
  bad(pack_error(broken, Side::kLhs, {}), "negative");
  broken = lhs_;
  broken.mutable_layout()->set_rows(PTRDIFF_MAX / 2 + 1);
  EXPECT_CODE(kOutOfRange, pack_error(broken, Side::kLhs, {}));
  if constexpr (sizeof(void*) == 8) {  // else that may well be had
    broken.mutable_layout()->set_rows(PTRDIFF_MAX >> 17);
    EXPECT_CODE(kExhausted, Pack(broken, Side::kLhs, {}, &context_));
  }
  bad(pack_error(lhs_, static_cast<Side>(7), {}), "side");
  PackOptions options = {Order::kColMajor, PackFor::kDoubleProduct};
  bad(pack_error(lhs_, Side::kLhs, options), "pack_for");
  const float value = 1;
  auto floats = ColMajorOf(&value, 1, 1);
  options.pack_for = PackFor::kInt16Operand;
  bad(pack_error(floats, Side::kLhs, options), "pack_for");
  options.pack_for = PackFor::kBFloat16Operand;
  bad(pack_error(floats, Side::kLhs, options), "pack_for");
  floats.set_zero_point(1);
  bad(pack_error(floats, Side::kLhs, {}), "zero point");
  EXPECT_FALSE(Pack(lhs_, Side::kLhs, {}, nullptr).ok());

  const MulParams<std::int32_t, std::int32_t> params;
  std::vector<std::int32_t> result(kRows * kCols, 5);
  auto dst = ColMajorOf(result, kRows, kCols);
  const PackedMatrix<std::int8_t> packed = PackLhs(&context_);
  bad(Mul(rhs_, packed, params, &context_, &dst), "dimensions");
  auto square = RowMajorOf(weights_, 11, 11);
  auto small = RowMajorOf(result, 11, 11);
  ASSERT_VALUE(auto square_lhs, Pack(square, Side::kLhs, {}, &context_));
  bad(Mul(square, square_lhs, params, &context_, &small), "other side");
  bad(Mul(PackedMatrix<std::int8_t>(), rhs_, params, &context_, &dst),
      "empty PackedMatrix");
  options = PackOptions();
  options.pack_for = PackFor::kInt16Operand;
  bad(Mul(PackLhs(&context_, options), rhs_, params, &context_, &dst),
      "other types");
  options = PackOptions();
  options.dst_order = Order::kRowMajor;
  ASSERT_VALUE(auto row_major_rhs, Pack(rhs_, Side::kRhs, options, &context_));
  bad(Mul(packed, row_major_rhs, params, &context_, &dst), "orders of dst");
  EXPECT_EQ(result, std::vector<std::int32_t>(kRows * kCols, 5));
}

TEST_P(PackedMatrixTest, RefusesADstInsideOfThePackedForm) {
  ASSERT_VALUE(auto bytes, PackedMatrixBytes(lhs_, Side::kLhs, {}, &context_));
  AlignedBuffer buffer;
  ASSERT_TRUE(AlignedBuffer::Allocate(bytes, &buffer));
  ASSERT_VALUE(auto packed,
               PackInto(buffer.data(), bytes, lhs_, Side::kLhs, {}, &context_));
  const std::string before(packed.Serialize());
  auto dst = ColMajorOf(reinterpret_cast<std::int32_t*>(
                            static_cast<char*>(buffer.data()) + bytes - 4),
                        kRows, kCols);
  EXPECT_CODE(kInvalid,
              Mul(packed, rhs_, MulParams<std::int32_t, std::int32_t>(),
                  &context_, &dst));
  EXPECT_EQ(before, packed.Serialize());
}

TEST_P(PackedMatrixTest, NeedsAContextThatPermitsItsPath) {
  const PackedMatrix<std::int8_t> packed = PackLhs(&context_);
  for (const Path path : PathsBestFirst(DetectedPaths())) {
    Context other;
    other.set_runtime_enabled_paths(path);
    std::vector<std::int32_t> result(kRows * kCols);
    auto dst = ColMajorOf(result, kRows, kCols);
    const absl::Status status = Mul(
        packed, rhs_, MulParams<std::int32_t, std::int32_t>(), &other, &dst);
    if (path == packed.path() || packed.path() == Path::kPortable) {
      EXPECT_OK(status);
    } else if (path < packed.path()) {
      ExpectStatus(status, kPrecondition, {PathName(packed.path())});
      EXPECT_EQ(result, std::vector<std::int32_t>(kRows * kCols));
    }
    // A better path may inherit its kernels or not.
    if (status.ok()) {
      EXPECT_EQ(result, Expected());
    }
  }
}

// ## No depth

// A matrix of depth 0, however wide, is nothing but a header: neither packing
// it nor reading a file that says so takes time or memory.
TEST_P(PackedMatrixTest, DepthZeroTakesNothing) {
  constexpr std::ptrdiff_t kWidths[] = {
      1, 37, std::ptrdiff_t{1} << (4 * sizeof(std::ptrdiff_t) - 1),
      PTRDIFF_MAX >> 23};
  for (const Scalar scalar : {Scalar::kI8, Scalar::kF32}) {
    for (const std::ptrdiff_t width : kWidths) {
      for (const Order order : kOrders) {
        const PackOptions options = {order};
        const auto check = [&](auto matrix, auto other) {
          using T = std::remove_const_t<
              std::remove_pointer_t<decltype(matrix.data())>>;
          MakeSimpleLayout(width, 0, Order::kColMajor, matrix.mutable_layout());
          ASSERT_VALUE(const auto bytes, PackedMatrixBytes(matrix, Side::kLhs,
                                                           options, &context_));
          ASSERT_EQ(bytes, kImageHeaderBytes);
          ASSERT_VALUE(const auto packed,
                       Pack(matrix, Side::kLhs, options, &context_));
          Image image(packed.Serialize());
          EXPECT_EQ(image.size, kImageHeaderBytes);
          ASSERT_VALUE(const auto read,
                       PackedMatrix<T>::FromBytes(image.data(), image.size));
          EXPECT_EQ(read.rows(), width);
          EXPECT_EQ(read.cols(), 0);
          if (width > 100) return;
          using Dst = std::conditional_t<std::is_same<T, float>::value, T, int>;
          MakeSimpleLayout(0, 3, Order::kColMajor, other.mutable_layout());
          EXPECT_EQ(MulTo<Dst>(read, other, &context_, order),
                    std::vector<Dst>(width * 3));
        };
        if (scalar == Scalar::kF32) {
          check(Matrix<float>(), Matrix<float>());
        } else {
          Matrix<std::int8_t> matrix;
          matrix.set_zero_point(3);
          Matrix<std::uint8_t> other;
          other.set_zero_point(5);
          check(matrix, other);
        }
      }
    }
  }
}

// No kernel reads more zeros than there are.
TEST(PackedSideTest, EveryKernelsPanelOfZerosFits) {
  int panels = 0;
  for (const Path path : PathsBestFirst(kAllPaths)) {
    const kernels::KernelTable table = KernelsOf(path);
    for (int i = 0; i < table.count; ++i) {
      const kernels::Kernel& kernel = table.kernels[i];
      for (const Side side : kSides) {
        const kernels::PanelFormat& format = FormatOf(kernel, side);
        if (format.in_place) continue;
        ++panels;
        EXPECT_LE(BytesOf(format.scalar, DepthMultiple(kernel) * format.width),
                  static_cast<std::ptrdiff_t>(PackedSide::kMaxZeroPanelBytes))
            << kernel.name;
      }
    }
  }
  EXPECT_GT(panels, 0);
}

// The padding of its panels is not packed either: many rows of dst take no
// scratch memory to speak of, and nothing of the cache.
TEST_P(PackedMatrixTest, ProductsOfDepthZeroPackNothing) {
  constexpr std::ptrdiff_t kMany = 100000;
  Matrix<std::int8_t> lhs, rhs;
  lhs.set_zero_point(3);
  rhs.set_zero_point(-4);
  lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  MakeSimpleLayout(kMany, 0, Order::kColMajor, lhs.mutable_layout());
  MakeSimpleLayout(0, 2, Order::kColMajor, rhs.mutable_layout());
  for (const int threads : {1, 3}) {
    UseThreads(threads, &context_);
    EXPECT_EQ(MulTo<std::int32_t>(lhs, rhs, &context_),
              std::vector<std::int32_t>(kMany * 2));
    EXPECT_EQ(context_.prepacked_cache_bytes(), 0u);
    // Statuses of blocks, perhaps.
    EXPECT_LT(context_.impl()->arena.capacity_bytes(), 8192u);
  }
}

}  // namespace
}  // namespace ruy_like
