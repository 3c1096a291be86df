// The AMX kernels against kernel.h's formulas, on tiles of this machine's own
// or with --emulate_amx (amx_emulation/amx_emulation.h), where how they use
// tiles is looked at too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/registry/cpu_features.h"
#include "test/amx_emulation/amx_emulation.h"
#include "test/support/guarded_buffer.h"

namespace ruy_like {
namespace kernels {
namespace {

bool Has(Path path) { return (DetectedPaths() & path) != Path::kNone; }

enum class Values { kRandom, kAllLowest, kAllHighest, kAlternating };

// One problem, as the middle-end would state it.
struct Case {
  int rows = 1, cols = 1, depth = 1;
  std::vector<int> passes;  // depth of each; empty: all in one
  Values values = Values::kRandom;
  int32_t lhs_zero_point = 0, rhs_zero_point = 0, dst_zero_point = 0;
  Scalar dst = Scalar::kI8;
  bool dst_row_major = false;
  int dst_gap = 0;  // elements between the end of a column and the next one
  int rhs_gap = 0;  // bytes between in-place columns
  bool channels_are_rows = true;
  bool per_channel = true;
  bool bias = true;
  int min_exponent = -8, max_exponent = -1;
  bool narrow_clamp = false;
  bool default_multiplier = false;
  // Of a float dst.
  bool lhs_scale_per_row = false, rhs_scale_per_col = false;
  bool rhs_scale_first = false;
  int32_t beta = 0;  // of an int32 dst
  uint32_t seed = 1;
};

std::string Describe(const Case& c) {
  std::string s = std::to_string(c.rows) + "x" + std::to_string(c.depth) + "x" +
                  std::to_string(c.cols) + " passes";
  for (int pass : c.passes) s += " " + std::to_string(pass);
  return s + " zero points " + std::to_string(c.lhs_zero_point) + " " +
         std::to_string(c.rhs_zero_point) + " dst " +
         std::to_string(static_cast<int>(c.dst)) +
         (c.dst_row_major ? " row-major" : " column-major") + " channels " +
         (c.channels_are_rows ? "rows" : "columns") +
         (c.per_channel ? "" : " (one multiplier)") + (c.bias ? " bias" : "") +
         " exponents " + std::to_string(c.min_exponent) + ".." +
         std::to_string(c.max_exponent) +
         (c.lhs_scale_per_row ? " lhs scales" : "") +
         (c.rhs_scale_per_col ? " rhs scales" : "") +
         (c.rhs_scale_first ? " rhs first" : "") + " beta " +
         std::to_string(c.beta) + " seed " + std::to_string(c.seed);
}

int DstBytes(Scalar dst) {
  switch (dst) {
    case Scalar::kI8:
    case Scalar::kU8:
      return 1;
    case Scalar::kI16:
      return 2;
    default:
      return 4;
  }
}

// Floats as their bits.
int64_t Load(const char* p, Scalar type) {
  switch (type) {
    case Scalar::kI8:
      return *reinterpret_cast<const int8_t*>(p);
    case Scalar::kU8:
      return *reinterpret_cast<const uint8_t*>(p);
    case Scalar::kI16: {
      int16_t x;
      memcpy(&x, p, sizeof(x));
      return x;
    }
    default: {
      int32_t x;
      memcpy(&x, p, sizeof(x));
      return x;
    }
  }
}

// The case's data and its expected result.
class Problem {
 public:
  Problem(const Case& c, const Kernel& kernel)
      : c_(c),
        kernel_(kernel),
        random_(c.seed),
        padded_depth_((c.depth + 63) / 64 * 64),
        rhs_stride_(kernel.rhs.in_place ? c.depth + c.rhs_gap : padded_depth_),
        lhs_(Padded(c.rows, 16) * padded_depth_, 64),
        rhs_(kernel.rhs.in_place ? (c.cols - 1) * rhs_stride_ + c.depth
                                 : Padded(c.cols, 16) * padded_depth_,
             kernel.rhs.in_place ? 1 : 64),
        channels_(c.channels_are_rows ? c.rows : c.cols),
        bias_(channels_),
        fixedpoint_(c.per_channel ? channels_ : 1),
        exponent_(c.per_channel ? channels_ : 1),
        lhs_sums_(c.rows),
        rhs_sums_(c.cols),
        lhs_scales_(c.lhs_scale_per_row ? c.rows : 1),
        rhs_scales_(c.rhs_scale_per_col ? c.cols : 1),
        scaled_bias_(channels_),
        dst_stride_((c.dst_row_major ? c.cols : c.rows) + c.dst_gap),
        dst_(((c.dst_row_major ? c.rows : c.cols) - 1) * dst_stride_ +
             (c.dst_row_major ? c.cols : c.rows)) {
    FillOperands();
    FillEpilogue();
  }

  // Bytes of one element are DstBytes of the room for four.
  void RunAndCheck() {
    const int bytes = DstBytes(c_.dst);
    GuardedArray<char> dst(dst_ * bytes, bytes);
    std::vector<char> expected(dst.size());
    for (char& byte : expected) byte = static_cast<char>(RandomInt(0, 255));
    memcpy(dst.data(), expected.data(), expected.size());
    e_.dst = dst.data();
    Run();
    for (int col = 0; col < c_.cols; ++col) {
      for (int row = 0; row < c_.rows; ++row) {
        const ptrdiff_t i = row * e_.dst_row_stride + col * e_.dst_col_stride;
        char* const old = expected.data() + i * bytes;
        ASSERT_EQ(Load(dst.data() + i * bytes, c_.dst),
                  Expected(row, col, Load(old, c_.dst)))
            << "at " << row << ", " << col;
        memcpy(old, dst.data() + i * bytes, bytes);
      }
    }
    for (size_t i = 0; i < dst.size(); ++i) {
      ASSERT_EQ(dst[i], expected[i]) << "gap of dst written, byte " << i;
    }
  }

 private:
  static ptrdiff_t Padded(ptrdiff_t n, ptrdiff_t to) {
    return (n + to - 1) / to * to;
  }

  int RandomInt(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random_);
  }

  int Value(int low, int high, ptrdiff_t i) {
    switch (c_.values) {
      case Values::kAllLowest:
        return low;
      case Values::kAllHighest:
        return high;
      case Values::kAlternating:
        return i % 2 == 0 ? low : high;
      default:
        return RandomInt(low, high);
    }
  }

  // Position in a packed panel, as kernel.h draws it.
  ptrdiff_t Packed(ptrdiff_t k, ptrdiff_t w, int group) const {
    return w / 16 * 16 * padded_depth_ + k / group * 16 * group +
           w % 16 * group + k % group;
  }

  void FillOperands() {
    for (size_t i = 0; i < rhs_.size(); ++i) {
      // What lies between in-place columns must not matter.
      rhs_[i] = kernel_.rhs.in_place ? static_cast<char>(RandomInt(0, 255)) : 0;
    }
    memset(lhs_.data(), 0, lhs_.size());
    lhs_values_.resize(ptrdiff_t{c_.rows} * c_.depth);
    rhs_values_.resize(ptrdiff_t{c_.cols} * c_.depth);
    for (int w = 0; w < c_.rows; ++w) {
      uint32_t sum = 0;
      for (int k = 0; k < c_.depth; ++k) {
        const int x = Value(-128, 127, k);
        lhs_values_[ptrdiff_t{w} * c_.depth + k] = x;
        lhs_[Packed(k, w, 4)] = static_cast<char>(x);
        sum += static_cast<uint32_t>(x);
      }
      lhs_sums_[w] = static_cast<int32_t>(sum);
    }
    const bool is_unsigned = kernel_.rhs.scalar == Scalar::kU8;
    for (int w = 0; w < c_.cols; ++w) {
      uint32_t sum = 0;
      for (int k = 0; k < c_.depth; ++k) {
        const int x = is_unsigned ? Value(0, 255, k) : Value(-128, 127, k);
        rhs_values_[ptrdiff_t{w} * c_.depth + k] = x;
        rhs_[kernel_.rhs.in_place ? w * rhs_stride_ + k : Packed(k, w, 64)] =
            static_cast<char>(x);
        sum += static_cast<uint32_t>(x);
      }
      rhs_sums_[w] = static_cast<int32_t>(sum);
      rhs_sum_values_.push_back(sum);
    }
  }

  void FillEpilogue() {
    std::uniform_int_distribution<int32_t> any(
        std::numeric_limits<int32_t>::min());
    for (size_t i = 0; i < bias_.size(); ++i) {
      bias_[i] = c_.seed % 4 == 0 ? any(random_) : RandomInt(-5000, 5000);
    }
    for (size_t i = 0; i < fixedpoint_.size(); ++i) {
      fixedpoint_[i] = c_.default_multiplier
                           ? 1 << 30
                           : RandomInt(c_.seed % 8 == 0 ? 0 : 1 << 30,
                                       std::numeric_limits<int32_t>::max());
      exponent_[i] = c_.default_multiplier
                         ? 1
                         : RandomInt(c_.min_exponent, c_.max_exponent);
    }
    e_ = EpilogueArgs();
    e_.dst_row_stride = c_.dst_row_major ? dst_stride_ : 1;
    e_.dst_col_stride = c_.dst_row_major ? 1 : dst_stride_;
    e_.dst_scalar = c_.dst;
    e_.channels_are_rows = c_.channels_are_rows;
    e_.per_channel = c_.per_channel;
    e_.max_exponent =
        static_cast<int8_t>(c_.default_multiplier ? 1 : c_.max_exponent);
    if (c_.dst == Scalar::kF32) {
      FillScales();
    } else {
      e_.bias = c_.bias ? bias_.data() : nullptr;
    }
    e_.accumulates = c_.beta != 0;
    e_.needs_general = e_.accumulates;
    e_.beta = c_.beta;
    if (c_.dst != Scalar::kI32 && c_.dst != Scalar::kF32) {
      e_.fixedpoint = fixedpoint_.data();
      e_.exponent = exponent_.data();
    }
    if (c_.rhs_zero_point != 0) e_.lhs_sums = lhs_sums_.data();
    if (c_.lhs_zero_point != 0 && !kernel_.rhs.in_place) {
      e_.rhs_sums = rhs_sums_.data();
    }
    e_.lhs_zero_point = c_.lhs_zero_point;
    e_.rhs_zero_point = c_.rhs_zero_point;
    e_.zero_point_product =
        static_cast<int32_t>(static_cast<uint32_t>(c_.depth) *
                             static_cast<uint32_t>(c_.lhs_zero_point) *
                             static_cast<uint32_t>(c_.rhs_zero_point));
    e_.dst_zero_point = c_.dst_zero_point;
    switch (c_.dst) {
      case Scalar::kI8:
        e_.clamp_min = -128, e_.clamp_max = 127;
        break;
      case Scalar::kU8:
        e_.clamp_min = 0, e_.clamp_max = 255;
        break;
      case Scalar::kI16:
        e_.clamp_min = -32768, e_.clamp_max = 32767;
        break;
      default:
        e_.clamp_min = std::numeric_limits<int32_t>::min();
        e_.clamp_max = std::numeric_limits<int32_t>::max();
    }
    if (c_.narrow_clamp) {
      e_.clamp_min = c_.dst == Scalar::kU8 ? 17 : -33;
      e_.clamp_max = 90;
    }
  }

  void FillScales() {
    const auto random_float = [this] {
      return static_cast<float>(RandomInt(-9999, 9999)) / 7e6f;
    };
    for (size_t i = 0; i < lhs_scales_.size(); ++i) {
      lhs_scales_[i] = random_float();
    }
    for (size_t i = 0; i < rhs_scales_.size(); ++i) {
      rhs_scales_[i] = random_float();
    }
    for (size_t i = 0; i < scaled_bias_.size(); ++i) {
      scaled_bias_[i] = random_float();
    }
    scales_.lhs = lhs_scales_.data();
    scales_.rhs = rhs_scales_.data();
    scales_.lhs_per_row = c_.lhs_scale_per_row;
    scales_.rhs_per_col = c_.rhs_scale_per_col;
    scales_.rhs_first = c_.rhs_scale_first;
    scales_.bias = c_.bias ? scaled_bias_.data() : nullptr;
    e_.scales = &scales_;
    const double bound =
        c_.narrow_clamp ? 1e-4f : std::numeric_limits<double>::infinity();
    e_.clamp_min_f = -bound;
    e_.clamp_max_f = bound;
  }

  void Run() {
    std::vector<int> passes = c_.passes;
    if (passes.empty()) passes = {c_.depth};
    std::unique_ptr<GuardedArray<int32_t>> accum;
    if (passes.size() > 1) {
      accum = std::make_unique<GuardedArray<int32_t>>(
          Padded(c_.rows, kernel_.tile_rows) *
              Padded(c_.cols, kernel_.tile_cols),
          64);
    }
    int depth0 = 0;
    for (size_t pass = 0; pass < passes.size(); ++pass) {
      ASSERT_EQ(depth0 % 64, 0);
      KernelArgs args = {};
      args.lhs = lhs_.data() + ptrdiff_t{depth0} * 16;
      args.rhs =
          rhs_.data() + ptrdiff_t{depth0} * (kernel_.rhs.in_place ? 1 : 16);
      args.lhs_stride_bytes = 16 * padded_depth_;
      args.rhs_stride_bytes =
          kernel_.rhs.in_place ? rhs_stride_ : 16 * padded_depth_;
      args.rows = c_.rows;
      args.cols = c_.cols;
      args.depth =
          kernel_.rhs.in_place ? passes[pass] : Padded(passes[pass], 64);
      args.first_pass = pass == 0;
      args.last_pass = pass + 1 == passes.size();
      args.accum = accum == nullptr ? nullptr : accum->data();
      args.epilogue = &e_;
      kernel_.run(&args);
      depth0 += passes[pass];
    }
    ASSERT_EQ(depth0, c_.depth);
  }

  // The bits of a float dst.
  int64_t ExpectedFloat(int row, int col, int32_t acc) {
    const float lhs_scale = lhs_scales_[c_.lhs_scale_per_row ? row : 0];
    const float rhs_scale = rhs_scales_[c_.rhs_scale_per_col ? col : 0];
    volatile float x = static_cast<float>(acc);
    x = x * (c_.rhs_scale_first ? rhs_scale : lhs_scale);
    x = x * (c_.rhs_scale_first ? lhs_scale : rhs_scale);
    if (c_.bias) x = x + scaled_bias_[c_.channels_are_rows ? row : col];
    const float rounded = x;
    const float clamped =
        std::min(std::max(rounded, static_cast<float>(e_.clamp_min_f)),
                 static_cast<float>(e_.clamp_max_f));
    int32_t bits;
    memcpy(&bits, &clamped, sizeof(bits));
    return bits;
  }

  int64_t Expected(int row, int col, int64_t old) {
    uint32_t acc = static_cast<uint32_t>(e_.zero_point_product);
    const int* lhs = lhs_values_.data() + ptrdiff_t{row} * c_.depth;
    const int* rhs = rhs_values_.data() + ptrdiff_t{col} * c_.depth;
    for (int k = 0; k < c_.depth; ++k) {
      acc += static_cast<uint32_t>(lhs[k] * rhs[k]);
    }
    const int channel = c_.channels_are_rows ? row : col;
    if (e_.bias != nullptr) {
      acc +=
          static_cast<uint32_t>(static_cast<const int32_t*>(e_.bias)[channel]);
    }
    acc -= static_cast<uint32_t>(c_.lhs_zero_point) * rhs_sum_values_[col];
    if (e_.lhs_sums != nullptr) {
      acc -= static_cast<uint32_t>(c_.rhs_zero_point) *
             static_cast<uint32_t>(e_.lhs_sums[row]);
    }
    if (c_.dst == Scalar::kF32) {
      return ExpectedFloat(row, col, static_cast<int32_t>(acc));
    }
    acc += static_cast<uint32_t>(c_.beta) * static_cast<uint32_t>(old);
    int64_t scaled = static_cast<int32_t>(acc);
    if (c_.dst != Scalar::kI32) {
      const int i = c_.per_channel ? channel : 0;
      const int exponent = e_.exponent[i];
      scaled = (scaled * e_.fixedpoint[i] + (int64_t{1} << (30 - exponent))) >>
               (31 - exponent);
      scaled = std::min<int64_t>(scaled, std::numeric_limits<int32_t>::max());
      scaled = std::max<int64_t>(scaled, std::numeric_limits<int32_t>::min());
    }
    return std::min<int64_t>(
        std::max<int64_t>(scaled + e_.dst_zero_point, e_.clamp_min),
        e_.clamp_max);
  }

  const Case c_;
  const Kernel& kernel_;
  std::mt19937 random_;
  const ptrdiff_t padded_depth_;
  const ptrdiff_t rhs_stride_;
  GuardedArray<char> lhs_, rhs_;
  const int channels_;
  GuardedArray<int32_t> bias_, fixedpoint_, exponent_, lhs_sums_, rhs_sums_;
  GuardedArray<float> lhs_scales_, rhs_scales_, scaled_bias_;
  const ptrdiff_t dst_stride_;
  const ptrdiff_t dst_;  // elements
  std::vector<int> lhs_values_, rhs_values_;
  std::vector<uint32_t> rhs_sum_values_;
  ScaleArgs scales_;
  EpilogueArgs e_;
};

// An entry of the table that multiplies on tiles.
struct Param {
  int index;
  const char* name;
};

class AmxKernelTest : public testing::TestWithParam<Param> {
 protected:
  void SetUp() override {
    if (!Has(Path::kAmx)) GTEST_SKIP() << "no AMX: run it with --emulate_amx";
    ASSERT_LT(GetParam().index, AmxKernels().count);
  }

  const Kernel& kernel() const {
    return AmxKernels().kernels[GetParam().index];
  }

  // Fills in what is left open of `c` from its seed.
  static void Vary(Case* c) {
    std::mt19937 random(c->seed * 7919);
    const auto pick = [&random](int n) {
      return std::uniform_int_distribution<int>(0, n - 1)(random);
    };
    const Scalar dsts[] = {Scalar::kI8, Scalar::kU8, Scalar::kI16, Scalar::kI32,
                           Scalar::kF32};
    const int32_t zero_points[] = {0, 0, 0, 5, -128, 127, 128, 255};
    const int exponents[][2] = {{-9, -1},   {-6, 0}, {0, 0},   {-31, 30},
                                {-31, -20}, {1, 8},  {-14, -2}};
    c->dst = dsts[pick(5)];
    c->lhs_scale_per_row = pick(2) == 0;
    c->rhs_scale_per_col = pick(2) == 0;
    c->rhs_scale_first = pick(2) == 0;
    const int32_t betas[] = {0, 1, -7, std::numeric_limits<int32_t>::min()};
    if (c->dst == Scalar::kI32) c->beta = betas[pick(4)];
    c->lhs_zero_point = zero_points[pick(6)];
    c->rhs_zero_point = zero_points[pick(8)];
    c->dst_zero_point = c->dst == Scalar::kI8   ? pick(256) - 128
                        : c->dst == Scalar::kU8 ? pick(256)
                                                : 0;
    c->dst_row_major = pick(4) == 0;
    c->dst_gap = pick(2) * pick(70);
    c->rhs_gap = pick(2) * pick(130);
    c->channels_are_rows = pick(3) != 0;
    c->per_channel = pick(4) != 0;
    c->bias = pick(3) != 0;
    const int* range = exponents[pick(7)];
    c->min_exponent = range[0];
    c->max_exponent = range[1];
    c->narrow_clamp = pick(4) == 0;
    c->default_multiplier = pick(12) == 0;
    if (c->default_multiplier) c->per_channel = pick(2) == 0;
  }

  void Check(const Case& c) {
    SCOPED_TRACE(Describe(c));
    EmulatedTileUnit().ResetCounts();
    Problem(c, kernel()).RunAndCheck();
    if (!IsAmxEmulated()) return;
    ASSERT_FALSE(EmulatedTileUnit().is_configured()) << "tiles not released";
    ASSERT_GT(EmulatedTileUnit().counts().products, 0);
  }
};

TEST_P(AmxKernelTest, Edges) {
  uint32_t seed = 0;
  for (int rows : {1, 15, 16, 17, 31, 32, 33, 47, 49, 64, 65, 97}) {
    for (int cols : {1, 2, 15, 16, 17, 31, 32, 33, 48, 49, 65}) {
      for (int depth : {1, 4, 63, 64, 65, 127, 192, 250}) {
        Case c;
        c.rows = rows, c.cols = cols, c.depth = depth;
        c.seed = ++seed;
        Vary(&c);
        Check(c);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Depths that tiles are configured for, and their neighbours.
TEST_P(AmxKernelTest, ShallowDepths) {
  uint32_t seed = 9000;
  for (int depth = 1; depth <= 68; ++depth) {
    for (const int cols : {5, 32, 50}) {
      Case c;
      c.rows = 70, c.cols = cols, c.depth = depth;
      c.seed = ++seed;
      Vary(&c);
      Check(c);
      if (HasFatalFailure()) return;
    }
  }
}

// Every mixture of the options of the epilogue, on a shape with all kinds of
// tile blocks but for one.
TEST_P(AmxKernelTest, Epilogues) {
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    Case c;
    c.rows = seed % 3 == 0 ? 50 : 83, c.cols = seed % 2 == 0 ? 37 : 20;
    c.depth = 70;
    c.seed = seed;
    Vary(&c);
    Check(c);
    if (HasFatalFailure()) return;
  }
}

// Every way in which a quantized epilogue can go, with results that spread over
// dst's range: both orders, types and directions of channels, sizes around the
// edges of squares, of quarters of them and of tiles, and several portions.
TEST_P(AmxKernelTest, QuantizedEpilogues) {
  uint32_t seed = 3000;
  const int sizes[] = {1, 3, 4, 5, 12, 15, 16, 17, 29, 32, 33, 50, 64, 65};
  for (const Scalar dst : {Scalar::kI8, Scalar::kU8, Scalar::kI16}) {
    for (int bits = 0; bits < 16; ++bits) {
      for (const int rows : sizes) {
        for (const int cols : {sizes[seed % 14], sizes[seed / 14 % 14]}) {
          Case c;
          c.rows = rows, c.cols = cols;
          c.passes = {64, 192, 20};
          c.depth = 276;
          if (seed % 3 != 0) c.passes.clear();
          c.seed = ++seed;
          c.dst = dst;
          c.dst_row_major = (bits & 1) != 0;
          c.channels_are_rows = (bits & 2) != 0;
          c.per_channel = (bits & 4) != 0;
          // What the fast one takes, and what it leaves to the general one.
          c.max_exponent = (bits & 8) != 0 ? -2 : 0;
          c.min_exponent = dst == Scalar::kI16 ? -6 : -14;
          c.dst_gap = seed % 2 * 5;
          c.rhs_gap = seed % 5;
          c.dst_zero_point = dst == Scalar::kI16  ? 0
                             : dst == Scalar::kU8 ? 100
                                                  : static_cast<int>(seed % 20);
          c.lhs_zero_point = seed % 7 == 0 ? 3 : 0;
          c.narrow_clamp = seed % 4 == 0;
          Check(c);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Zero points that the fast epilogue's floats have no room for, or just.
TEST_P(AmxKernelTest, FarDstZeroPoints) {
  uint32_t seed = 5000;
  for (const int32_t zero_point :
       {-40000, -256, -255, -128, -127, 255, 256, 383, 384, 40000}) {
    for (const bool row_major : {false, true}) {
      Case c;
      c.rows = 40, c.cols = 36, c.depth = 64;
      c.seed = ++seed;
      c.dst = seed % 4 < 2 ? Scalar::kI8 : Scalar::kU8;
      c.dst_row_major = row_major;
      c.dst_zero_point = zero_point;
      c.min_exponent = -3, c.max_exponent = -2;
      Check(c);
      if (HasFatalFailure()) return;
    }
  }
}

// Long streams of tile blocks, more rows than one range has (512), all choices
// of streaming loads and all densities of the epilogue's units.
TEST_P(AmxKernelTest, ManyBlocks) {
  uint32_t seed = 77;
  int64_t streaming = 0;
  for (int rows : {20, 100, 600}) {
    for (int cols : {5, 64, 75, 200}) {
      for (int depth : {33, 180, 320, 1111, 3100}) {
        if (rows * depth > 400 * 1111) continue;  // tests want to end
        Case c;
        c.rows = rows, c.cols = cols, c.depth = depth;
        c.seed = ++seed;
        Vary(&c);
        Check(c);
        if (HasFatalFailure()) return;
        if (IsAmxEmulated()) {
          const TileCounts& counts = EmulatedTileUnit().counts();
          EXPECT_LE(counts.configurations, rows > 512 ? 4 : 2);
          const bool fits = (rows + 32) * depth <= 40 * 1024;
          // Last groups of at most 16 columns and calls with multipliers along
          // columns always stream.
          const bool may_rest = (cols % 32 == 0 || cols % 32 > 16) &&
                                (c.channels_are_rows || !c.per_channel);
          if (rows > 32 && fits && may_rest) {
            EXPECT_EQ(counts.streaming_loads, 0);
          }
          streaming += counts.streaming_loads;
        }
      }
    }
  }
  if (IsAmxEmulated()) {
    EXPECT_GT(streaming, 0);
  }
}

TEST_P(AmxKernelTest, DepthPasses) {
  uint32_t seed = 500;
  for (int rows : {1, 16, 33, 64, 90, 530}) {
    for (int cols : {1, 16, 17, 40, 70}) {
      for (const std::vector<int>& passes :
           {std::vector<int>{64, 64}, {64, 1}, {128, 64, 77}, {192, 320}}) {
        for (int i = 0; i < (rows > 512 ? 1 : 4); ++i) {
          Case c;
          c.rows = rows, c.cols = cols, c.passes = passes;
          c.depth = 0;
          for (int pass : passes) c.depth += pass;
          c.seed = ++seed;
          Vary(&c);
          Check(c);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(AmxKernelTest, ExtremeValues) {
  uint32_t seed = 900;
  for (Values values :
       {Values::kAllLowest, Values::kAllHighest, Values::kAlternating}) {
    for (int depth : {64, 100, 3000}) {
      for (int i = 0; i < 8; ++i) {
        Case c;
        c.rows = 35, c.cols = 34, c.depth = depth;
        c.values = values;
        c.seed = ++seed;
        Vary(&c);
        Check(c);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Accumulators that wrap around: 140,000 * 128 * 128 > 2^31.
TEST_P(AmxKernelTest, DeepWraps) {
  for (Scalar dst : {Scalar::kI32, Scalar::kI8}) {
    Case c;
    c.rows = 17, c.cols = 3, c.depth = 140000;
    c.values = Values::kAllLowest;
    c.dst = dst;
    c.lhs_zero_point = 3;
    c.min_exponent = -20, c.max_exponent = -14;
    Check(c);
  }
}

// Accumulators and multipliers, one of each a channel, for which scaling is to
// be right.
struct Scalings {
  std::vector<int32_t> acc, fixedpoint, exponent;

  // Near `result` - 1/2, on either side or exactly there, where a multiplier
  // can take an accumulator at all.
  void AddNearTies(int result, int64_t multiplier, int exp) {
    const double x =
        multiplier == 0 ? 0 : std::ldexp(result - 0.5, 31 - exp) / multiplier;
    if (std::abs(x) > 2147483000.0) return;
    const int32_t nearest = static_cast<int32_t>(std::lround(x));
    for (const int32_t off : {-1, 0, 1}) Add(nearest + off, multiplier, exp);
  }
  // The same by the multiplier's choice.
  void AddNearTiesOf(int result, int32_t x, int exp) {
    const double multiplier =
        x == 0 ? 0 : std::ldexp(result - 0.5, 31 - exp) / x;
    if (multiplier < 1 || multiplier > 2147483000.0) return;
    const int64_t nearest = std::lround(multiplier);
    for (const int off : {-1, 0, 1}) Add(x, nearest + off, exp);
  }
  void Add(int32_t x, int64_t multiplier, int exp) {
    acc.push_back(x);
    fixedpoint.push_back(static_cast<int32_t>(multiplier));
    exponent.push_back(exp);
  }
};

// Runs the kernel on zeros, so that accumulators are the bias.
void CheckScalings(const Kernel& kernel, const Scalings& s, Scalar dst,
                   int32_t zero_point, bool along_rows, bool row_major) {
  const int channels = static_cast<int>(s.acc.size());
  const int rows = along_rows ? channels : 1;
  const int cols = along_rows ? 1 : channels;
  const std::vector<char> lhs((rows + 15) / 16 * 16 * 64, 0);
  const std::vector<char> rhs((cols + 15) / 16 * 16 * 64, 0);
  std::vector<char> result(channels);
  const bool is_signed = dst == Scalar::kI8;
  EpilogueArgs e = {};
  e.dst = result.data();
  e.dst_row_stride = row_major ? cols : 1;
  e.dst_col_stride = row_major ? 1 : rows;
  e.dst_scalar = dst;
  e.channels_are_rows = along_rows;
  e.per_channel = true;
  e.bias = s.acc.data();
  e.fixedpoint = s.fixedpoint.data();
  e.exponent = s.exponent.data();
  e.dst_zero_point = zero_point;
  e.clamp_min = is_signed ? -128 : 0;
  e.clamp_max = is_signed ? 127 : 255;
  KernelArgs args = {};
  args.lhs = lhs.data();
  args.rhs = rhs.data();
  args.lhs_stride_bytes = 16 * 64;
  args.rhs_stride_bytes = kernel.rhs.in_place ? 64 : 16 * 64;
  args.rows = rows;
  args.cols = cols;
  args.depth = 64;
  args.first_pass = args.last_pass = true;
  args.epilogue = &e;
  kernel.run(&args);
  for (int i = 0; i < channels; ++i) {
    const int exp = s.exponent[i];
    const int64_t scaled =
        (int64_t{s.acc[i]} * s.fixedpoint[i] + (int64_t{1} << (30 - exp))) >>
        (31 - exp);
    ASSERT_EQ(
        Load(&result[i], dst),
        std::clamp<int64_t>(scaled + zero_point, e.clamp_min, e.clamp_max))
        << s.acc[i] << " * " << s.fixedpoint[i] << " * 2^(" << exp
        << " - 31), zero point " << zero_point;
  }
}

// Results as near to their rounding's ties as int32 allows, for every exponent
// that estimates serve, of every kind of multiplier; and overflow.
TEST_P(AmxKernelTest, NearTies) {
  std::mt19937 random(1);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const auto bit = [&pick] { return int64_t{1} << pick(0, 30); };
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int variant = 0;
  for (int exponent = -31; exponent <= 0; ++exponent) {
    for (int kind = 0; kind < 7; ++kind) {
      ++variant;
      const Scalar dst = variant % 2 == 0 ? Scalar::kI8 : Scalar::kU8;
      const int32_t zero_points[] = {-255, -128, 0, 3, 127, 128, 255, 383};
      const int32_t zero_point = zero_points[variant / 4 % 8];
      Scalings s;
      for (int i = 0; i < 150; ++i) {
        const int edge = pick(0, 1) == 0 ? -128 : 127;
        const int result = static_cast<int>(
            (i % 4 == 0 ? edge + pick(-2, 2) : pick(-130, 258)) - zero_point);
        const int64_t multipliers[] = {pick(1 << 30, kMost), pick(0, kMost),
                                       bit(), kMost - pick(0, 99),
                                       std::min(kMost, bit() | bit() | bit())};
        if (kind < 5) s.AddNearTies(result, multipliers[kind], exponent);
        if (kind == 5) {
          const int bits = static_cast<int>(pick(1, 31));
          const int64_t most = (int64_t{1} << bits) - 1;
          s.AddNearTiesOf(result, static_cast<int32_t>(pick(-most, most)),
                          exponent);
        }
        if (kind == 6 || i == 0) {
          s.Add(static_cast<int32_t>(pick(-kMost - 1, kMost)),
                i % 2 == 0 ? pick(0, kMost) : bit(), exponent);
        }
      }
      CheckScalings(kernel(), s, dst, zero_point, (variant & 4) != 0,
                    (variant & 8) != 0);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AmxKernelTest,
                         testing::Values(Param{0, "s8_in_place"},
                                         Param{1, "u8_in_place"},
                                         Param{2, "s8_packed"}),
                         [](const testing::TestParamInfo<Param>& instance) {
                           return std::string(instance.param.name);
                         });

}  // namespace
}  // namespace kernels
}  // namespace ruy_like
