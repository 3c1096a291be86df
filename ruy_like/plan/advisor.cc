#include "ruy_like/plan/advisor.h"

#include <cstddef>

#include "ruy_like/base/checked_math.h"

namespace ruy_like {
namespace {

constexpr PerformanceAdvisory kNone = PerformanceAdvisory::kNone;

// FNV-1a's constants.
constexpr std::uint32_t kBasis = 2166136261u, kPrime = 16777619u;
std::uint32_t Mix(std::uint32_t hash, std::uint64_t value) {
  return (hash ^ static_cast<std::uint32_t>(value ^ value >> 32)) * kPrime;
}

// A hash of elements on the diagonal.
std::uint32_t HashOfValues(const Operand& operand) {
  constexpr std::ptrdiff_t kSamples = 32;
  const std::ptrdiff_t bytes = BytesOf(operand.scalar, 1);
  std::uint32_t hash = kBasis;
  for (std::ptrdiff_t i = 0; i < kSamples; ++i) {
    const std::ptrdiff_t col = operand.width * i / kSamples;
    const std::ptrdiff_t k = operand.depth * i / kSamples;
    const std::ptrdiff_t outer = operand.depth_contiguous ? col : k;
    const std::ptrdiff_t inner = operand.depth_contiguous ? k : col;
    const auto* const element =
        static_cast<const unsigned char*>(operand.data) +
        (outer * operand.stride + inner) * bytes;
    for (std::ptrdiff_t b = 0; b < bytes; ++b) hash = Mix(hash, element[b]);
  }
  return hash;
}

// Columns or rows that lie so far apart share few sets of L1.
bool HasStrideOf4KiB(const Operand& operand) {
  constexpr std::ptrdiff_t kPage = 4096, kManyVectors = 16;
  return (operand.depth_contiguous ? operand.width : operand.depth) >=
             kManyVectors &&
         BytesOf(operand.scalar, operand.stride) % kPage == 0;
}

// Each row of a tile that crosses a cache line is read twice.
bool IsUnaligned(const Operand& operand) {
  constexpr std::ptrdiff_t kLine = 64;
  return reinterpret_cast<std::uintptr_t>(operand.data) % kLine != 0 ||
         BytesOf(operand.scalar, operand.stride) % kLine != 0;
}

}  // namespace

bool Advisor::IsPackedAgain(const Operand& operand) {
  std::uint32_t shape = kBasis;
  for (const std::ptrdiff_t size :
       {operand.width, operand.depth, operand.stride}) {
    shape = Mix(shape, static_cast<std::uint64_t>(size));
  }
  shape = Mix(shape, static_cast<std::uint64_t>(operand.scalar) * 2 +
                         static_cast<std::uint64_t>(operand.depth_contiguous));
  const std::uint32_t place =
      Mix(kBasis, reinterpret_cast<std::uintptr_t>(operand.data));
  Seen& seen = seen_[place >> 26];
  if (seen.data != operand.data || seen.shape != shape) {
    seen = {operand.data, shape, 0, 0};
  }
  ++seen.times;
  if (seen.times == kFirstLook) seen.values = HashOfValues(operand);
  if (seen.times != kSecondLook) return false;
  seen.times = 0;
  return seen.values == HashOfValues(operand);
}

SidePair<PerformanceAdvisory> Advisor::Note(const TrMulParams& params,
                                            const SidePair<SideSource>& source,
                                            const kernels::Kernel& kernel) {
  // Packing dominates where the other side is narrow, as for
  // CachePolicy::kCacheIfSignificantSpeedup.
  constexpr std::ptrdiff_t kNarrow = 128;
  const unsigned before = found_.load(std::memory_order_relaxed);
  SidePair<PerformanceAdvisory> found = {kNone, kNone};
  unsigned all = 0;
  for (const Side side : kSides) {
    const Operand& operand = params.side[side];
    if (operand.packed != nullptr) continue;
    PerformanceAdvisory advisory =
        operand.broke_promise ? PerformanceAdvisory::kBrokenPromise : kNone;
    const bool packs = source[side] == SideSource::kPackedByBlock ||
                       source[side] == SideSource::kPackedOnce;
    if ((packs || source[side] == SideSource::kInPlace) &&
        HasStrideOf4KiB(operand)) {
      advisory = advisory | PerformanceAdvisory::kStrideOf4KiB;
    }
    if (kernel.multiplies_tiles && source[side] == SideSource::kInPlace &&
        IsUnaligned(operand)) {
      advisory = advisory | PerformanceAdvisory::kUnaligned;
    }
    if (packs && params.side[Other(side)].width <= kNarrow &&
        operand.width > kNarrow && IsPackedAgain(operand)) {
      advisory = advisory | PerformanceAdvisory::kRepeatedPacking;
    }
    all |= static_cast<unsigned>(advisory);
    found[side] = static_cast<PerformanceAdvisory>(
        static_cast<unsigned>(advisory) & ~before);
  }
  if ((all & ~before) != 0) found_.fetch_or(all, std::memory_order_relaxed);
  return found;
}

}  // namespace ruy_like
