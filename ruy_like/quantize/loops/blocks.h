// Quantization toolkit, internal: element-wise work cut into blocks for
// threads.
//
// Used by every element-wise operation. Knows nothing of what is done to the
// elements, and does not choose instructions (dispatch.h).
#ifndef RUY_LIKE_QUANTIZE_LOOPS_BLOCKS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_BLOCKS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"

namespace ruy_like::quantize_internal {

// A tensor as lines of `inner` elements, cut anywhere: line i is a row or a
// column of a matrix, or there is but one line.
struct Lines {
  std::ptrdiff_t count = 0;
  std::ptrdiff_t inner = 0;
};

// Elements [begin, begin + count) of one line.
struct Piece {
  std::ptrdiff_t line;
  std::ptrdiff_t begin;
  std::ptrdiff_t count;
};

// Threads, this one included, that ForEachRange uses for that much work.
std::ptrdiff_t ThreadsFor(std::ptrdiff_t total,
                          std::ptrdiff_t bytes_per_element, Context* context);

// Calls body(first, last), or body(first, last, thread) with a thread's number
// below ThreadsFor, for consecutive ranges that cover [0, total), on the
// threads of `context` (null: on this one). A range is a multiple of `grain`
// long, but for the last one. Floating-point arithmetic in it rounds to nearest
// and keeps denormals, whatever the thread's own state.
//
// Few bytes stay on this thread: waking another one takes as long as moving
// some hundred kilobytes. So does all work where there is no memory for sharing
// it. body must not throw: it may run on the host's threads.
absl::Status ForEachRange(std::ptrdiff_t total, std::ptrdiff_t grain,
                          std::ptrdiff_t bytes_per_element, Context* context,
                          void (*body)(void* argument, std::ptrdiff_t first,
                                       std::ptrdiff_t last, int thread),
                          void* argument);

template <typename Body>
absl::Status ForEachRange(std::ptrdiff_t total, std::ptrdiff_t grain,
                          std::ptrdiff_t bytes_per_element, Context* context,
                          const Body& body) {
  return ForEachRange(
      total, grain, bytes_per_element, context,
      [](void* argument, std::ptrdiff_t first, std::ptrdiff_t last,
         [[maybe_unused]] int thread) {
        const Body& run = *static_cast<const Body*>(argument);
        if constexpr (std::is_invocable_v<const Body&, std::ptrdiff_t,
                                          std::ptrdiff_t, int>) {
          run(first, last, thread);
        } else {
          run(first, last);
        }
      },
      const_cast<Body*>(&body));
}

// Calls body(piece) for pieces that cover all lines, in the same manner; no
// piece is more than one line.
template <typename Body>
absl::Status ForEachPiece(const Lines& lines, std::ptrdiff_t bytes_per_element,
                          Context* context, const Body& body) {
  return ForEachRange(lines.count * lines.inner, 1, bytes_per_element, context,
                      [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        while (first < last) {
                          const std::ptrdiff_t line = first / lines.inner;
                          const std::ptrdiff_t begin =
                              first - line * lines.inner;
                          const std::ptrdiff_t count =
                              std::min(lines.inner - begin, last - first);
                          body(Piece{line, begin, count});
                          first += count;
                        }
                      });
}

// Bytes that are repeated to a length. Short ones are repeated here often
// enough for a vector loop to run over them, so this refers to itself: it can
// not be copied.
class RepeatedBytes final {
 public:
  // bytes.size() divides the length, or both are 0. Borrows them.
  RepeatedBytes(absl::Span<const std::uint8_t> bytes, std::size_t length)
      : data_(bytes.data()), period_(std::max<std::size_t>(bytes.size(), 1)) {
    if (bytes.size() == length || bytes.empty() || period_ >= kTile) return;
    const std::size_t repeats = std::min(kTile, length) / period_;
    for (std::size_t i = 0; i < repeats; ++i) {
      std::copy(bytes.begin(), bytes.end(), tile_.begin() + i * period_);
    }
    data_ = tile_.data();
    period_ *= repeats;
  }
  RepeatedBytes(const RepeatedBytes&) = delete;
  RepeatedBytes& operator=(const RepeatedBytes&) = delete;

  const std::uint8_t* At(std::size_t i) const { return data_ + i % period_; }
  // Elements that are contiguous from there on.
  std::size_t RunAt(std::size_t i) const { return period_ - i % period_; }

 private:
  static constexpr std::size_t kTile = 4096;

  const std::uint8_t* data_;
  std::size_t period_;
  std::array<std::uint8_t, kTile> tile_;
};

// Rows [row, row + rows), columns [col, col + cols) of a matrix.
template <typename T>
Matrix<T> PartOf(const Matrix<T>& matrix, std::ptrdiff_t row,
                 std::ptrdiff_t rows, std::ptrdiff_t col, std::ptrdiff_t cols) {
  Matrix<T> part = matrix;
  if (matrix.data() != nullptr) {
    part.set_data(matrix.data() + ElementOffset(matrix.layout(), row, col));
  }
  part.mutable_layout()->set_rows(rows);
  part.mutable_layout()->set_cols(cols);
  return part;
}

// function(row, col) for each element. Rows without any may be more than can be
// gone through.
template <typename Function>
void ForEachElement(const Layout& layout, const Function& function) {
  if (layout.cols() == 0) return;
  for (std::ptrdiff_t row = 0; row < layout.rows(); ++row) {
    for (std::ptrdiff_t col = 0; col < layout.cols(); ++col) {
      function(row, col);
    }
  }
}

// ## Two matrices of one shape, line by line

// Elements from line to line, and from element to element within a line.
struct Steps {
  std::ptrdiff_t line;
  std::ptrdiff_t element;
};

// A line is a row or a column.
struct PairWalk {
  Lines lines;
  Steps src;
  Steps dst;
};

inline Steps StepsOf(const Layout& layout, Order line_order) {
  return layout.order() == line_order ? Steps{layout.stride(), 1}
                                      : Steps{1, layout.stride()};
}

// Along rows (kRowMajor) or columns.
inline PairWalk WalkInOrder(const Layout& src, const Layout& dst, Order order) {
  const bool by_column = order == Order::kColMajor;
  return {{by_column ? dst.cols() : dst.rows(),
           by_column ? dst.rows() : dst.cols()},
          StepsOf(src, order),
          StepsOf(dst, order)};
}

// Along dst's lines; all of them in one where neither matrix has gaps.
inline PairWalk WalkAlongDst(const Layout& src, const Layout& dst) {
  PairWalk walk = WalkInOrder(src, dst, dst.order());
  if (walk.src.element == 1 && walk.src.line == walk.lines.inner &&
      walk.dst.line == walk.lines.inner) {
    walk.lines = {1, walk.lines.count * walk.lines.inner};
  }
  return walk;
}

// One line for each channel.
inline PairWalk WalkChannels(const Layout& src, const Layout& dst,
                             ChannelDimension channels) {
  return WalkInOrder(
      src, dst,
      channels == ChannelDimension::kRow ? Order::kRowMajor : Order::kColMajor);
}

inline std::ptrdiff_t Offset(const Steps& steps, const Piece& piece) {
  return piece.line * steps.line + piece.begin * steps.element;
}

// True if results of so many bytes, the operands included, are better written
// past the caches: they would not stay there anyway, and a line that is written
// into a cache is first read.
bool BypassesCaches(std::ptrdiff_t bytes);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_BLOCKS_H_
