// Registry: the estimated time of a product on AMX tiles and on AVX-512-VNNI.
//
// Asked by registry.cc on the amx path. Pure functions of sizes. The figures
// are those of one core (Intel Xeon with AMX, family 6 model 143; doc/amx.md),
// of a sketch with the kernel's straight-line epilogue. The kernel itself was
// measured on another core, at 3.3 GHz: 366 ns at 32^3 and 920 at 64^3, where
// AVX-512-VNNI took 335 and 1390.
#ifndef RUY_LIKE_REGISTRY_AMX_COST_H_
#define RUY_LIKE_REGISTRY_AMX_COST_H_

#include <cstddef>

namespace ruy_like {

// Nanoseconds of a product on tiles, without checks and packing, which both
// paths have alike. A call takes 300: configuration 202 cycles, release 16, one
// epilogue and its stores that overlap with nothing. A block of 1024 results
// takes at least 200, for its epilogue and waiting; above depth 384 its
// products take longer, 64 cycles per step of depth 64, at 2.15 GHz. A last
// slice of at most 16 columns takes 400 more. That was measured once, at
// 48^3, with a slower loop than the kernel's.
//
//            32^3  48^3   64x32x64  64^3  96^3  128^3
//   here      500  1300       1100  1100  2100   3500
//   measured  461  1301       1230  1230  2289   3424
double AmxNs(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols);

// The same on AVX-512-VNNI: 250 for a call, then 185 multiply-adds and 12
// results a nanosecond.
//
//            32^3  48^3   64x32x64  64^3  96^3  128^3
//   here      512  1032       1300  2008  5800  12951
//   measured  485   992       1344  1840  5189  10866
double VnniNs(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols);

inline bool IsTooSmallForAmx(std::ptrdiff_t rows, std::ptrdiff_t depth,
                             std::ptrdiff_t cols) {
  return AmxNs(rows, depth, cols) > VnniNs(rows, depth, cols);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_REGISTRY_AMX_COST_H_
