// Quantization toolkit, internal: how a Highway kernel walks over its elements.
//
// Included once for each of Highway's targets, by the files of kernels. An
// operation is a functor that handles kLanes elements, of any alignment; what
// is left over goes through padded copies, so nothing is read or written beyond
// the ends.
#if defined(RUY_LIKE_QUANTIZE_LOOPS_MAP_LANES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef RUY_LIKE_QUANTIZE_LOOPS_MAP_LANES_INL_H_
#undef RUY_LIKE_QUANTIZE_LOOPS_MAP_LANES_INL_H_
#else
#define RUY_LIKE_QUANTIZE_LOOPS_MAP_LANES_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Enough for the lanes of any vector of 32-bit elements that is compiled.
constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// The last elements of an operand, with zeros behind them.
template <typename T>
struct Tail {
  Tail(const T* from, std::size_t n) { std::memcpy(data, from, n * sizeof(T)); }
  T data[kMaxLanes] = {};
};

// op(in..., out) for each `lanes` elements of all operands.
template <class Op, typename Out, typename... In>
void MapLanes(std::size_t n, Out* out, std::size_t lanes, const Op& shared_op,
              const In*... in) {
  // A copy, which stores to `out` cannot change: its constants stay in
  // registers.
  const Op op = shared_op;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) op(in + i..., out + i);
  if (i == n) return;
  Out out_tail[kMaxLanes];
  op(Tail<In>(in + i, n - i).data..., out_tail);
  std::memcpy(out + i, out_tail, (n - i) * sizeof(Out));
}

// Copies past the caches all whole cache lines of `to`.
inline void StreamBytes(const std::uint8_t* from, std::size_t bytes,
                        std::uint8_t* to) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  const std::size_t head =
      HWY_MIN(bytes, (~reinterpret_cast<std::uintptr_t>(to) + 1) % 64);
  std::memcpy(to, from, head);
  std::size_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    for (std::size_t j = 0; j < 64; j += step) {
      hn::Stream(hn::LoadU(d, from + i + j), d, to + i + j);
    }
  }
  std::memcpy(to + i, from + i, bytes - i);
}

// body(first, count, to): elements [first, first + count) to `to`. All of them
// to `out` at once, or if `streaming` past the caches, chunk by chunk, through
// a buffer that stays in the first-level cache.
template <typename Out, class Body>
void ForChunks(std::size_t n, Out* out, bool streaming, const Body& body) {
  if (!streaming) return body(std::size_t{0}, n, out);
  constexpr std::size_t kBytes = 4096;
  alignas(64) Out staged[kBytes / sizeof(Out)];
  // So that every cache line but the first and the last is written at once.
  std::size_t bytes = kBytes - reinterpret_cast<std::uintptr_t>(out) % 64;
  for (std::size_t first = 0; first < n; bytes = kBytes) {
    const std::size_t count = HWY_MIN(bytes / sizeof(Out), n - first);
    body(first, count, staged);
    StreamBytes(reinterpret_cast<const std::uint8_t*>(staged),
                count * sizeof(Out),
                reinterpret_cast<std::uint8_t*>(out + first));
    first += count;
  }
  hwy::FlushStream();
}

// MapLanes, past the caches if `streaming`.
template <class Op, typename Out, typename... In>
void Map(std::size_t n, Out* out, std::size_t lanes, const Op& op,
         bool streaming, const In*... in) {
  ForChunks(n, out, streaming,
            [&](std::size_t first, std::size_t count, Out* to)
                HWY_ATTR { MapLanes(count, to, lanes, op, in + first...); });
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RUY_LIKE_QUANTIZE_LOOPS_MAP_LANES_INL_H_
