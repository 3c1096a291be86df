// Benchmarks: the levels that codes of 2 and 4 bits stand for
// (GroupWeights::table).
#ifndef RUY_LIKE_BENCH_LEVEL_TABLES_H_
#define RUY_LIKE_BENCH_LEVEL_TABLES_H_

#include <cstdint>

namespace ruy_like::bench {

constexpr std::int8_t kTernary[] = {-1, 0, 1, 2};
constexpr std::int8_t kIq4Nl[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};
// MXFP4 and NVFP4: doubled.
constexpr std::int8_t kE2M1[] = {0, 1,  2,  3,  4,  6,  8,  12,
                                 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_LEVEL_TABLES_H_
