// Diagnostics: how long the operands of products take to pack, for
// RUY_LIKE_VERBOSE=summary.
//
// packed_side.cc opens a span around each packing; verbose.cc asks for an
// operand's sum when its product is done.
#ifndef RUY_LIKE_DIAGNOSTICS_PACK_METER_H_
#define RUY_LIKE_DIAGNOSTICS_PACK_METER_H_

#include <chrono>

namespace ruy_like {

// Set by verbose.cc before main; not to be written afterwards.
extern bool g_pack_meter_is_on;

// Adds the time to the end of the scope to that of `operand`, which is
// identified by its address. When off, it costs a branch at either end. Without
// memory, or with too many operands whose time is not taken, the time is lost.
class PackSpan final {
 public:
  explicit PackSpan(const void* operand) : operand_(operand) {
    if (g_pack_meter_is_on) start_ = std::chrono::steady_clock::now();
  }
  ~PackSpan() {
    if (g_pack_meter_is_on) Add();
  }
  PackSpan(const PackSpan&) = delete;
  PackSpan& operator=(const PackSpan&) = delete;

 private:
  void Add() const;

  const void* operand_;
  std::chrono::steady_clock::time_point start_;
};

// The operand's packing time, of all threads together, since this was last
// called for it.
std::chrono::nanoseconds TakePackTime(const void* operand);

}  // namespace ruy_like

#endif  // RUY_LIKE_DIAGNOSTICS_PACK_METER_H_
