// Test support: what nearly every test of the public API needs.
//
// Random numbers that are the same everywhere, matrices in one line, and suites
// that run once for each path of this machine.
#ifndef RUY_LIKE_TEST_SUPPORT_TEST_UTIL_H_
#define RUY_LIKE_TEST_SUPPORT_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ruy_like/context.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/path.h"

namespace ruy_like {

// The matchers of most tests of texts and lists.
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

// ## Paths

// Instantiates a suite whose parameter is a Path for all that this machine has;
// the names of its tests end in /<path>, which is how test_main.cc and CTest
// select them.
#define RUY_LIKE_INSTANTIATE_PER_PATH(Suite)                        \
  INSTANTIATE_TEST_SUITE_P(                                         \
      Paths, Suite,                                                 \
      testing::ValuesIn(                                            \
          ::ruy_like::PathsBestFirst(::ruy_like::DetectedPaths())), \
      [](const testing::TestParamInfo<::ruy_like::Path>& path) {    \
        return std::string(::ruy_like::PathName(path.param));       \
      })

// The paths that have panel kernels alone: none for few columns, for group
// scales or for sums in another order.
constexpr Path kPathsOfPanels = Path::kAvx | Path::kWasm128 | Path::kRvv128;

// The base of such a suite: a Context that may take this path, or the portable
// one for types that the path does not serve.
class PathTest : public testing::TestWithParam<Path> {
 protected:
  PathTest() { Restrict(&context_); }
  void Restrict(Context* context) {
    context->set_runtime_enabled_paths(GetParam() | Path::kPortable);
  }

  Context context_;
};

// Has products run on so many threads, however small they are.
inline void UseThreads(int count, Context* context) {
  context->set_max_num_threads(count);
  context->set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
}

// ## Random numbers

// SplitMix64: the standard library's distributions differ between
// implementations, and a seed in a failure message must mean the same anywhere.
class Rng final {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [low, high].
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(Next() % span);
  }
  bool OneIn(int n) { return Next() % n == 0; }
  // In [-1, 1), with all of a double's bits in use.
  double Signed() {
    return static_cast<double>(static_cast<std::int64_t>(Next())) * 0x1p-63;
  }

 private:
  std::uint64_t state_;
};

// ## Results

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr auto kOk = absl::StatusCode::kOk;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

inline absl::Status StatusOf(absl::Status status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// The check behind the macros below; a failure shows the whole Status.
template <typename Result>
testing::AssertionResult HasCode(absl::StatusCode code, const Result& result) {
  const absl::Status status = StatusOf(result);
  if (status.code() == code) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status;
}

// That a Status or a StatusOr is OK, or has this code.
#define EXPECT_OK(...) EXPECT_CODE(::ruy_like::kOk, __VA_ARGS__)
#define ASSERT_OK(...) ASSERT_CODE(::ruy_like::kOk, __VA_ARGS__)
#define EXPECT_CODE(...) EXPECT_TRUE(::ruy_like::HasCode(__VA_ARGS__))
#define ASSERT_CODE(...) ASSERT_TRUE(::ruy_like::HasCode(__VA_ARGS__))

// ASSERT_VALUE(const auto x, expression): asserts that the expression's
// StatusOr is OK, and makes x the value in it. x may have been declared before.
#define ASSERT_VALUE(x, ...) \
  ASSERT_VALUE_BY(RUY_LIKE_TEST_JOIN(value_or_, __LINE__), x, __VA_ARGS__)
#define ASSERT_VALUE_BY(value_or, x, ...) \
  auto value_or = __VA_ARGS__;            \
  ASSERT_OK(value_or) << #__VA_ARGS__;    \
  x = *std::move(value_or)
#define RUY_LIKE_TEST_JOIN(a, b) RUY_LIKE_TEST_JOIN_EXPANDED(a, b)
#define RUY_LIKE_TEST_JOIN_EXPANDED(a, b) a##b

// That it has this code, and a message with all of these parts.
inline void ExpectStatus(const absl::Status& status, absl::StatusCode code,
                         const std::vector<std::string>& parts = {}) {
  EXPECT_EQ(status.code(), code) << status;
  for (const std::string& part : parts) {
    EXPECT_NE(status.message().find(part), absl::string_view::npos)
        << "no '" << part << "' in " << status;
  }
}

// The same value, with the sign of a zero; any NaN is like another.
template <typename T>
bool SameFloat(T a, T b) {
  const auto x = static_cast<float>(a), y = static_cast<float>(b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y && std::signbit(x) == std::signbit(y);
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// ## Matrices

// dst has `rows` rows and `cols` columns.
struct Shape {
  std::ptrdiff_t rows, depth, cols;
};

inline std::ostream& operator<<(std::ostream& os, const Shape& shape) {
  return os << shape.rows << "x" << shape.depth << "x" << shape.cols;
}

constexpr Order kOrders[] = {Order::kColMajor, Order::kRowMajor};
constexpr ChannelDimension kDimensions[] = {ChannelDimension::kRow,
                                            ChannelDimension::kCol};

// The order of lhs, rhs and dst (0 to 2) from these bits.
inline Order OrderOf(int bits, int matrix) {
  return (bits >> matrix & 1) != 0 ? Order::kRowMajor : Order::kColMajor;
}

// From data that may be const, like Matrix::set_data.
template <typename T>
Matrix<std::remove_const_t<T>> MakeMatrix(T* data, std::ptrdiff_t rows,
                                          std::ptrdiff_t cols, Order order,
                                          std::ptrdiff_t gap = 0) {
  Matrix<std::remove_const_t<T>> matrix;
  MakeSimpleLayout(rows, cols, order, matrix.mutable_layout());
  matrix.mutable_layout()->set_stride(matrix.layout().stride() + gap);
  matrix.set_data(data);
  return matrix;
}

// Without gaps, from a pointer or a container of as many elements.
template <typename Data>
auto MatrixWithoutGaps(Data& data, std::ptrdiff_t rows, std::ptrdiff_t cols,
                       Order order) {
  if constexpr (std::is_pointer_v<std::decay_t<Data>>) {
    return MakeMatrix(data, rows, cols, order);
  } else {
    return MakeMatrix(data.data(), rows, cols, order);
  }
}
template <typename Data>
auto RowMajorOf(Data&& data, std::ptrdiff_t rows, std::ptrdiff_t cols) {
  return MatrixWithoutGaps(data, rows, cols, Order::kRowMajor);
}
template <typename Data>
auto ColMajorOf(Data&& data, std::ptrdiff_t rows, std::ptrdiff_t cols) {
  return MatrixWithoutGaps(data, rows, cols, Order::kColMajor);
}

// Sets each element, row by row, to what draw() returns.
template <typename T, typename Draw>
void FillElements(Matrix<T>* matrix, const Draw& draw) {
  for (std::ptrdiff_t row = 0; row < matrix->layout().rows(); ++row) {
    for (std::ptrdiff_t col = 0; col < matrix->layout().cols(); ++col) {
      *ElementPtr(matrix, row, col) = static_cast<T>(draw());
    }
  }
}

// Elements from the first to one past the last, without the gap behind it.
inline std::ptrdiff_t SpanOf(const Layout& layout) {
  if (layout.rows() == 0 || layout.cols() == 0) return 0;
  return ElementOffset(layout, layout.rows() - 1, layout.cols() - 1) + 1;
}

template <typename T>
std::vector<T> RandomVector(std::size_t size, std::int64_t low,
                            std::int64_t high, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<T> values(size);
  for (T& value : values) value = static_cast<T>(rng.Between(low, high));
  return values;
}
// The same, over the whole range of T.
template <typename T>
std::vector<T> RandomVector(std::size_t size, std::uint64_t seed) {
  return RandomVector<T>(size, std::numeric_limits<T>::min(),
                         std::numeric_limits<T>::max(), seed);
}

// In [-1, 1).
inline float RandomFloat(Rng* rng) { return static_cast<float>(rng->Signed()); }

// So many of these, as any floating type.
template <typename T>
std::vector<T> RandomReals(std::size_t size, Rng* rng) {
  std::vector<T> values(size);
  for (T& value : values) value = static_cast<T>(rng->Signed());
  return values;
}
template <typename T>
std::vector<T> RandomReals(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  return RandomReals<T>(size, &rng);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_TEST_UTIL_H_
