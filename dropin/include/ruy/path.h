// Drop-in for ruy: Path, with ruy's names and bit values.
//
// A path of ruy stands for a generation of instructions, of which ruy_like has
// several paths each. What Context tells of paths is what ruy would tell; the
// path of ruy_like that a product took is ruy_like::Context's to tell.
//
//   ruy             ruy_like
//   kStandardCpp    portable    (as do the three internal variants)
//   kAvx            avx
//   kAvx2Fma        avx2, avxvnni
//   kAvx512         avx512, avx512vnni, amx and what is newer
//   kNeon           neon; on 32-bit Arm neon32
//   kNeonDotprod    neondot, neoni8mm and what is newer
//
// The table itself is in dropin/src/ctx.cc.
#ifndef RUY_LIKE_DROPIN_RUY_PATH_H_
#define RUY_LIKE_DROPIN_RUY_PATH_H_

#include <cstdint>

#include "ruy/dropin_visibility.h"
#include "ruy/platform.h"

namespace ruy {

// One bit each; sets of paths are formed with |.
enum class Path : std::uint8_t {
  kNone = 0,
  kStandardCpp = 0x01,
  kInternalStandardCppVariant1 = 0x02,
  kInternalStandardCppVariant2 = 0x04,
  kInternalStandardCppVariant3 = 0x08,
#if RUY_PLATFORM_ARM
  kNeon = 0x10,
  kNeonDotprod = 0x20,
#endif
#if RUY_PLATFORM_X86
  kAvx = 0x10,
  kAvx2Fma = 0x20,
  kAvx512 = 0x40,
#endif
};

RUY_LIKE_LOCAL constexpr Path operator|(Path a, Path b) {
  return static_cast<Path>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
RUY_LIKE_LOCAL constexpr Path operator&(Path a, Path b) {
  return static_cast<Path>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
RUY_LIKE_LOCAL constexpr Path operator^(Path a, Path b) {
  return static_cast<Path>(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));
}
RUY_LIKE_LOCAL constexpr Path operator~(Path a) {
  return static_cast<Path>(~static_cast<unsigned>(a));
}

RUY_LIKE_LOCAL constexpr bool Disjoint(Path a, Path b) {
  return (a & b) == Path::kNone;
}

// The highest bit; kNone of kNone.
RUY_LIKE_LOCAL constexpr Path GetMostSignificantPath(Path paths) {
  unsigned bit = 0x80;
  while (bit > static_cast<unsigned>(paths)) bit >>= 1;
  return static_cast<Path>(bit);
}

// Paths that any processor has.
constexpr Path kNonArchPaths = Path::kStandardCpp;
constexpr Path kNonArchPathsIncludingInternalVariants =
    kNonArchPaths | Path::kInternalStandardCppVariant1 |
    Path::kInternalStandardCppVariant2 | Path::kInternalStandardCppVariant3;

// Paths of this processor's kind.
#if RUY_PLATFORM_NEON_64
constexpr Path kDefaultArchPaths = Path::kNeon | Path::kNeonDotprod;
#elif RUY_PLATFORM_NEON_32
constexpr Path kDefaultArchPaths = Path::kNeon;
#elif RUY_PLATFORM_X86
constexpr Path kDefaultArchPaths = Path::kAvx | Path::kAvx2Fma | Path::kAvx512;
#else
constexpr Path kDefaultArchPaths = Path::kNone;
#endif
constexpr Path kExtraArchPaths = Path::kNone;

// The paths of a Mul that names none: all.
constexpr Path kDefaultPaths = kNonArchPaths | kDefaultArchPaths;
constexpr Path kAllPaths = kDefaultPaths | kExtraArchPaths;
constexpr Path kAllPathsIncludingInternalVariants =
    kAllPaths | kNonArchPathsIncludingInternalVariants;

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_PATH_H_
