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

// Results on their way past the caches, chunk by chunk, through a buffer that
// stays in the first-level cache:
//
//   for (StreamedOutput<Out> s(out, n); !s.done(); s.Next()) {
//     ... elements [s.first(), s.first() + s.count()) to s.staged() ...
//   }
template <typename Out>
class StreamedOutput {
 public:
  StreamedOutput(Out* out, std::size_t n) : out_(out), n_(n) {
    // So that every cache line but the first and the last is written at once.
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(out) % 64;
    count_ = HWY_MIN((kBytes - misaligned) / sizeof(Out), n);
  }
  ~StreamedOutput() { hwy::FlushStream(); }
  StreamedOutput(const StreamedOutput&) = delete;
  StreamedOutput& operator=(const StreamedOutput&) = delete;

  bool done() const { return first_ == n_; }
  std::size_t first() const { return first_; }
  std::size_t count() const { return count_; }
  Out* staged() { return staged_; }
  void Next() {
    StreamBytes(reinterpret_cast<const std::uint8_t*>(staged_),
                count_ * sizeof(Out),
                reinterpret_cast<std::uint8_t*>(out_ + first_));
    first_ += count_;
    count_ = HWY_MIN(kBytes / sizeof(Out), n_ - first_);
  }

 private:
  static constexpr std::size_t kBytes = 4096;

  Out* out_;
  std::size_t n_;
  std::size_t first_ = 0;
  std::size_t count_;
  alignas(64) Out staged_[kBytes / sizeof(Out)];
};

// MapLanes, past the caches if `streaming`.
template <class Op, typename Out, typename... In>
void Map(std::size_t n, Out* out, std::size_t lanes, const Op& op,
         bool streaming, const In*... in) {
  if (!streaming) return MapLanes(n, out, lanes, op, in...);
  for (StreamedOutput<Out> s(out, n); !s.done(); s.Next()) {
    MapLanes(s.count(), s.staged(), lanes, op, in + s.first()...);
  }
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RUY_LIKE_QUANTIZE_LOOPS_MAP_LANES_INL_H_
