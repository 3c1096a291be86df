// Tested in test/diagnostics/verbose_test.cc.
#include "ruy_like/diagnostics/pack_meter.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>

#include "ruy_like/os/process.h"

namespace ruy_like {
namespace {

// Operands of running products; others, packed for a PackedMatrix, are never
// asked for.
constexpr std::size_t kMaxOperands = 1000;

struct Meter {
  // In a forked child the mutex may be held by a thread that is not there.
  bool IsUsable() const { return process == os::ProcessId(); }

  const long process = os::ProcessId();
  std::mutex mutex;
  std::map<const void*, std::chrono::nanoseconds> times;
};

// Never destroyed: workers may pack until the process ends.
Meter* TheMeter() {
  static Meter* const meter = new (std::nothrow) Meter;
  return meter;
}

}  // namespace

bool g_pack_meter_is_on = false;

void PackSpan::Add() const {
  const auto time = std::chrono::steady_clock::now() - start_;
  Meter* const meter = TheMeter();
  if (meter == nullptr || !meter->IsUsable()) return;
  const std::lock_guard<std::mutex> lock(meter->mutex);
  try {
    if (meter->times.size() >= kMaxOperands) meter->times.clear();
    meter->times[operand_] +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(time);
  } catch (const std::bad_alloc&) {
  }
}

std::chrono::nanoseconds TakePackTime(const void* operand) {
  Meter* const meter = TheMeter();
  if (meter == nullptr || !meter->IsUsable()) return {};
  const std::lock_guard<std::mutex> lock(meter->mutex);
  const auto found = meter->times.find(operand);
  if (found == meter->times.end()) return {};
  const std::chrono::nanoseconds time = found->second;
  meter->times.erase(found);
  return time;
}

}  // namespace ruy_like
