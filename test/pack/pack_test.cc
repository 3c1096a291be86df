// Every pack routine against the layout formula of kernels/panel_format.h
// (test/support/panels.h). The source lies against an inaccessible page, first
// with its end and then with its start; the gaps between its lines are poisoned
// where the address sanitizer runs; dst and sums lie between canaries.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "ruy_like/base/env.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/path.h"
#include "test/support/guarded_buffer.h"
#include "test/support/panels.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"
#include "test/support/visit_scalar.h"

#if RUY_LIKE_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace ruy_like::kernels {
namespace {

enum class Source { k8, k16, kF32, kF64, kBF16, kF16 };

struct Routine {
  const char* name;
  PackFn* pack;
  Path path;  // whose instructions it takes
  Source source;
  Scalar packed;
  // Packs elements of ValueRange::kInt7 64 above the int8 value.
  bool is_int7;
  int width;
  int dot_width;
};

std::ostream& operator<<(std::ostream& os, const Routine& routine) {
  return os << routine.name;
}

// True if a packed type's name, as routines' names have it, is int7's.
constexpr bool IsInt7Name(const char* packed) {
  return packed[0] == 'U' && packed[1] == '7';
}
constexpr bool SameName(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}
constexpr Scalar ScalarNamed(const char* packed) {
  if (IsInt7Name(packed)) return Scalar::kU8;
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  if (SameName(packed, kernel_name)) return Scalar::Enum;
  RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
  std::abort();
}

const Routine kRoutines[] = {
#define ROUTINE(Path_, source, packed, width, dot_width)                   \
  Routine{"Pack" #Path_ "_" #source "_" #packed "_" #width "x" #dot_width, \
          Pack##Path_##_##source##_##packed##_##width##x##dot_width,       \
          Path::k##Path_,                                                  \
          Source::k##source,                                               \
          ScalarNamed(#packed),                                            \
          IsInt7Name(#packed),                                             \
          width,                                                           \
          dot_width},
#define RUY_LIKE_PACK_PATH(Enum) RUY_LIKE_PACK_ROUTINES_##Enum(ROUTINE)
#include "ruy_like/compiled_packs.inc"
#undef RUY_LIKE_PACK_PATH
#undef ROUTINE
};

std::vector<Scalar> SourceScalars(Source source) {
  switch (source) {
    case Source::k8:
      return {Scalar::kI8, Scalar::kU8};
    case Source::k16:
      return {Scalar::kI16};
    case Source::kF32:
      return {Scalar::kF32, Scalar::kBF16, Scalar::kF16, Scalar::kE4M3,
              Scalar::kE5M2};
    case Source::kF64:
      return {Scalar::kF32, Scalar::kF64};
    case Source::kBF16:
      return {Scalar::kBF16, Scalar::kE4M3, Scalar::kE5M2};
    case Source::kF16:
      return {Scalar::kF16};
  }
  return {};
}

// Memory whose both ends touch guard pages, for one source after the other.
class SourcePages final {
 public:
  explicit SourcePages(size_t bytes)
      : buffer_((bytes + kWhole - 1) / kWhole * kWhole, Flush::kStart) {}

  // `bytes` bytes that start (or end) where an inaccessible page ends (starts).
  char* AtStart() { return buffer_.data(); }
  char* AtEnd(size_t bytes) { return buffer_.data() + this->bytes() - bytes; }
  size_t bytes() const { return buffer_.bytes(); }

 private:
  static constexpr size_t kWhole = size_t{64} << 10;  // of pages of any size
  GuardedBuffer buffer_;
};

enum class Fill { kRandom, kLowest, kHighest, kAlternating };
constexpr Fill kFills[] = {Fill::kRandom, Fill::kRandom, Fill::kLowest,
                           Fill::kHighest, Fill::kAlternating};

template <typename T>
T FillValue(Fill fill, bool odd, Rng* random) {
  if constexpr (std::is_integral<T>::value) {
    const T lowest = std::numeric_limits<T>::lowest();
    const T highest = std::numeric_limits<T>::max();
    if (fill == Fill::kRandom) return static_cast<T>(random->Next());
    if (fill == Fill::kAlternating) return odd ? highest : lowest;
    return fill == Fill::kLowest ? lowest : highest;
  } else {
    // Values that a routine that computes rather than copies would change.
    const T special[] = {static_cast<T>(-0.0),
                         std::numeric_limits<T>::denorm_min(),
                         std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::quiet_NaN()};
    if (fill == Fill::kAlternating) return special[random->Next() % 4];
    if constexpr (sizeof(T) == 1) {
      const T any = T::FromBits(static_cast<std::uint8_t>(random->Next()));
      return any == any ? any : T();
    }
    return static_cast<T>(static_cast<int32_t>(random->Next()) / 65536.0);
  }
}

// One source matrix with its surroundings and one call.
struct Case {
  Scalar src_scalar;
  bool depth_contiguous;
  ptrdiff_t depth;
  ptrdiff_t width;
  ptrdiff_t gap;           // stride beyond the inner dimension
  ptrdiff_t extra_groups;  // of padding beyond what depth needs
  bool sums;
  bool at_end;  // of the accessible pages
  Fill fill;
};

std::ostream& operator<<(std::ostream& os, const Case& c) {
  return os << "src_scalar " << static_cast<int>(c.src_scalar)
            << " depth_contiguous " << c.depth_contiguous << " depth "
            << c.depth << " width " << c.width << " gap " << c.gap
            << " extra_groups " << c.extra_groups << " sums " << c.sums
            << " at_end " << c.at_end << " fill " << static_cast<int>(c.fill);
}

// An element as packed; integers and floats alike are exact in a double.
template <typename T>
double PackedValue(T value, const Routine& routine) {
  const Scalar packed = routine.packed;
  if constexpr (std::is_integral_v<T>) {
    if (routine.is_int7) {
      return static_cast<std::uint8_t>(
          std::is_same<T, uint8_t>::value ? value - 64 : value + 64);
    }
  }
  if (std::is_same<T, uint8_t>::value && packed != Scalar::kU8) {
    return static_cast<double>(value) - 128;
  }
  if (std::is_same<T, int8_t>::value && packed == Scalar::kU8) {
    return static_cast<double>(value) + 128;
  }
  return static_cast<double>(value);
}

constexpr char kCanary = '\xa5';
constexpr size_t kMargin = 256;

template <typename T>
void CheckTyped(const Routine& routine, const Case& c, SourcePages* pages,
                Rng* random) {
  const ptrdiff_t inner = c.depth_contiguous ? c.depth : c.width;
  const ptrdiff_t outer = c.depth_contiguous ? c.width : c.depth;
  const ptrdiff_t stride = inner + c.gap;
  const size_t src_bytes = ((outer - 1) * stride + inner) * sizeof(T);
  ASSERT_LE(src_bytes, pages->bytes());
  char* const src_start = c.at_end ? pages->AtEnd(src_bytes) : pages->AtStart();
  T* const src = reinterpret_cast<T*>(src_start);
  // Fills the ends of wide gaps, which a vector may reach; the middle keeps the
  // last call's bytes.
  constexpr ptrdiff_t kReach = 64;
  for (ptrdiff_t i = 0; i < outer; ++i) {
    const ptrdiff_t begin = i == 0 ? 0 : -std::min(c.gap, kReach);
    const ptrdiff_t end =
        inner + (i + 1 == outer ? 0 : std::min(c.gap, kReach));
    for (ptrdiff_t j = begin; j < end; ++j) {
      src[i * stride + j] = FillValue<T>(c.fill, j % 2 != 0, random);
    }
  }

  // The expected panels.
  const ptrdiff_t group = routine.dot_width;
  const ptrdiff_t padded_depth =
      RoundUp(c.depth, group) + c.extra_groups * group;
  const size_t dst_bytes =
      BytesOf(routine.packed, RoundUp(c.width, routine.width) * padded_depth);
  std::vector<char> expected(dst_bytes, 0);
  // Where an element lies: a sum of what depth and width contribute, so that
  // most divisions are made once.
  const auto offset = [&](ptrdiff_t k, ptrdiff_t w) {
    return PanelOffset(routine.packed, routine.width, group, padded_depth, k,
                       w);
  };
  std::vector<ptrdiff_t> depth_offsets(padded_depth);
  for (ptrdiff_t k = 0; k < padded_depth; ++k) depth_offsets[k] = offset(k, 0);
  const auto expect_column = [&](ptrdiff_t begin, ptrdiff_t end, ptrdiff_t w,
                                 const auto& value) {
    const ptrdiff_t column_offset = offset(0, w) - offset(0, 0);
    VisitScalar(routine.packed, [&](auto zero) {
      using Packed = decltype(zero);
      for (ptrdiff_t k = begin; k < end; ++k) {
        const auto element = static_cast<Packed>(value(k));
        std::memcpy(expected.data() +
                        (depth_offsets[k] + column_offset) * sizeof(Packed),
                    &element, sizeof(element));
      }
    });
  };
  std::vector<int32_t> expected_sums(c.width, 0);
  for (ptrdiff_t w = 0; w < c.width; ++w) {
    uint32_t sum = 0;
    expect_column(0, c.depth, w, [&](ptrdiff_t k) {
      const T element =
          c.depth_contiguous ? src[w * stride + k] : src[k * stride + w];
      const double value = PackedValue(element, routine);
      if constexpr (std::is_integral<T>::value) {
        sum += static_cast<uint32_t>(static_cast<int32_t>(value));
      }
      return value;
    });
    expected_sums[w] = static_cast<int32_t>(sum);
  }
  // From depth on, columns that are none included.
  const auto pad = [&](ptrdiff_t end) {
    for (ptrdiff_t w = 0; w < RoundUp(c.width, routine.width); ++w) {
      expect_column(c.depth, end, w, [](ptrdiff_t) { return -0.0; });
    }
  };
  // Those as wide as a vector are the lhs's.
  const int lhs_width = routine.path == Path::kAvx512 ? 16 : 8;
  if (routine.packed == Scalar::kBF16 && group == 2 &&
      routine.width != lhs_width && c.depth % 2 != 0) {
    pad(c.depth + 1);
  }

  // Floats that meet pairs of BFloat16: x86's.
  const bool pads_floats =
      routine.packed == Scalar::kF32 &&
      (routine.path == Path::kAvx2 || routine.path == Path::kAvx512);
  if (pads_floats) pad(padded_depth);

  // 64-byte alignment of dst, and no more than that, is promised.
  std::vector<char> dst_buffer(dst_bytes + 2 * kMargin + 64, kCanary);
  char* dst = dst_buffer.data() + kMargin;
  dst += 64 - reinterpret_cast<uintptr_t>(dst) % 64;
  std::vector<int32_t> sums(c.width + 32, 0x5a5a5a5a);
  PackArgs args;
  args.src = src;
  args.src_scalar = c.src_scalar;
  args.depth_contiguous = c.depth_contiguous;
  args.src_stride = stride;
  args.depth = c.depth;
  args.width = c.width;
  args.dst = dst;
  args.padded_depth = padded_depth;
  args.sums = c.sums ? sums.data() + 16 : nullptr;

#if RUY_LIKE_TEST_ASAN
  for (ptrdiff_t i = 0; i + 1 < outer; ++i) {
    ASAN_POISON_MEMORY_REGION(src + i * stride + inner, c.gap * sizeof(T));
  }
#endif
  routine.pack(&args);
#if RUY_LIKE_TEST_ASAN
  ASAN_UNPOISON_MEMORY_REGION(src_start, src_bytes);
#endif

  ASSERT_EQ(std::memcmp(dst, expected.data(), dst_bytes), 0) << c;
  const auto is_canary = [](char byte) { return byte == kCanary; };
  ASSERT_TRUE(std::all_of(dst_buffer.data(), dst, is_canary)) << c;
  ASSERT_TRUE(std::all_of(dst + dst_bytes,
                          dst_buffer.data() + dst_buffer.size(), is_canary))
      << c;
  const bool makes_sums = c.sums && HasSums(routine.packed);
  for (ptrdiff_t i = 0; i < static_cast<ptrdiff_t>(sums.size()); ++i) {
    const bool inside = makes_sums && i >= 16 && i < 16 + c.width;
    ASSERT_EQ(sums[i], inside ? expected_sums[i - 16] : 0x5a5a5a5a)
        << c << " sum " << i - 16;
  }
}

void Check(const Routine& routine, const Case& c, SourcePages* pages,
           Rng* random) {
  VisitScalar(c.src_scalar, [&](auto zero) {
    CheckTyped<decltype(zero)>(routine, c, pages, random);
  });
}

class PackTest : public testing::TestWithParam<Routine> {
 protected:
  void SetUp() override {
    const Path path = GetParam().path;
    if ((MachinePaths() & path) != Path::kNone) return;
    ASSERT_VALUE(const Path required,
                 ParsePaths(GetEnv(EnvVar::kRequirePaths)));
    ASSERT_EQ(required & path, Path::kNone)
        << "this processor lacks the required path " << PathName(path);
    GTEST_SKIP() << "NOT TESTED: this processor lacks the path "
                 << PathName(path);
  }

  // Both orders and all source types of one shape; what is left varies from
  // call to call.
  void CheckShape(ptrdiff_t depth, ptrdiff_t width, SourcePages* pages) {
    for (const Scalar src_scalar : SourceScalars(GetParam().source)) {
      for (const bool depth_contiguous : {true, false}) {
        Case c;
        c.src_scalar = src_scalar;
        c.depth_contiguous = depth_contiguous;
        c.depth = depth;
        c.width = width;
        c.gap = random_.OneIn(3) ? random_.Next() % 40 : random_.Next() % 2;
        c.extra_groups = random_.OneIn(3) ? random_.Next() % 20 : 0;
        c.sums = !random_.OneIn(4);
        c.at_end = !random_.OneIn(4);
        c.fill = kFills[random_.Next() % 5];
        Check(GetParam(), c, pages, &random_);
        if (HasFatalFailure()) return;
      }
    }
  }

  // Around multiples of this, widths are interesting: those of panels, or the
  // columns that are packed together where panels have one.
  static int PanelStep() {
    return GetParam().width == 1 ? 8 : GetParam().width;
  }

  Rng random_{20240607};
};

TEST_P(PackTest, Shapes) {
  SourcePages pages(1 << 20);
  const int panel = PanelStep();
  std::vector<ptrdiff_t> depths;
  for (ptrdiff_t depth = 1; depth <= 70; depth += kThinning) {
    depths.push_back(depth);
  }
  for (const ptrdiff_t depth :
       {79,  80,  81,  95,  96,  97,  111, 113, 126, 127, 128, 129, 130, 143,
        145, 159, 161, 175, 177, 191, 192, 193, 199, 200, 255, 256, 257, 321}) {
    depths.push_back(depth);
  }
  std::vector<ptrdiff_t> widths;
  for (ptrdiff_t width = 1; width <= panel + 2; ++width) {
    widths.push_back(width);
  }
  for (ptrdiff_t width = 2 * panel - 2; width <= 2 * panel + 2; ++width) {
    widths.push_back(width);
  }
  widths.push_back(3 * panel - 1);
  widths.push_back(3 * panel);
  for (const ptrdiff_t depth : depths) {
    for (const ptrdiff_t width : widths) {
      CheckShape(depth, width, &pages);
      if (HasFatalFailure()) return;
    }
  }
}

// Every combination of the options at a few shapes.
TEST_P(PackTest, Options) {
  SourcePages pages(1 << 20);
  const int panel = PanelStep();
  for (const Scalar src_scalar : SourceScalars(GetParam().source)) {
    for (int bits = 0; bits < 16; ++bits) {
      for (const Fill fill : kFills) {
        if (kSanitized && fill != kFills[bits % 5]) continue;
        for (const ptrdiff_t depth : {1, 15, 64, 83}) {
          for (const int width : {1, panel, panel + panel / 2}) {
            for (const int gap : {0, 1, 4096 - 83}) {
              Case c;
              c.src_scalar = src_scalar;
              c.depth_contiguous = (bits & 1) != 0;
              c.depth = depth;
              c.width = width;
              c.gap = gap;
              c.extra_groups = (bits & 2) != 0 ? 3 : 0;
              c.sums = (bits & 4) != 0;
              c.at_end = (bits & 8) != 0;
              c.fill = fill;
              if (BytesOf(src_scalar, (c.depth_contiguous ? width : depth) *
                                          (gap + 100)) > (1 << 20)) {
                continue;
              }
              Check(GetParam(), c, &pages, &random_);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

// Sums of extreme elements over a depth where 16-bit ones wrap around.
TEST_P(PackTest, Deep) {
  constexpr ptrdiff_t kDepth = 70003;
  const int width = GetParam().width + 1;
  SourcePages pages(kDepth * (width + 1) * sizeof(double));
  for (const Scalar src_scalar : SourceScalars(GetParam().source)) {
    for (const bool depth_contiguous : {true, false}) {
      for (const Fill fill : {Fill::kLowest, Fill::kHighest}) {
        // Floats have no such fills, and no sums.
        if (IsFloat(src_scalar) && (fill == Fill::kLowest || kSanitized)) {
          continue;
        }
        const Case c = {
            src_scalar, depth_contiguous, kDepth, width, 0, 0, true, true,
            fill};
        Check(GetParam(), c, &pages, &random_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PackTest, testing::ValuesIn(kRoutines),
                         [](const testing::TestParamInfo<Routine>& test) {
                           return std::string(test.param.name);
                         });

}  // namespace
}  // namespace ruy_like::kernels
