// ruy_like::quantize, internal: element-wise work cut into blocks for threads.
//
// Used by every element-wise operation. Knows nothing of what is done to the
// elements, and does not choose instructions (dispatch.h).
#ifndef RUY_LIKE_QUANTIZE_BLOCKS_H_
#define RUY_LIKE_QUANTIZE_BLOCKS_H_

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "ruy_like/context.h"

namespace ruy_like {
namespace quantize_internal {

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

// Threads, this one included, that ForEachRange uses for as much work.
std::ptrdiff_t ThreadsFor(std::ptrdiff_t total,
                          std::ptrdiff_t bytes_per_element, Context* context);

// Calls body(first, last) for consecutive ranges that cover [0, total), on the
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
                                       std::ptrdiff_t last),
                          void* argument);

template <typename Body>
absl::Status ForEachRange(std::ptrdiff_t total, std::ptrdiff_t grain,
                          std::ptrdiff_t bytes_per_element, Context* context,
                          const Body& body) {
  return ForEachRange(
      total, grain, bytes_per_element, context,
      [](void* argument, std::ptrdiff_t first, std::ptrdiff_t last) {
        (*static_cast<const Body*>(argument))(first, last);
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

// Whether results of so many bytes, the operands included, are better written
// past the caches: they would not stay there anyway, and a line that is written
// into a cache is first read.
bool BypassesCaches(std::ptrdiff_t bytes);

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_BLOCKS_H_
