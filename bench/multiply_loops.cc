#include "bench/multiply_loops.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "ruy_like/scalar.h"

namespace ruy_like::bench {
namespace {

#if defined(__x86_64__)

// ## Operands

constexpr std::ptrdiff_t kLhsBytes = 16 << 10;
constexpr std::ptrdiff_t kRhsBytes = 24
                                     << 10;  // of which 16-byte loops use most
constexpr int kProducts = 12;                // of a step
constexpr std::ptrdiff_t kRhsStep = 6 * 4;   // bytes of its broadcasts

using Integers = long long;

// Bytes of all values, and floats from +-(0.5 to 1), whose sums stay normal
// numbers.
struct Operands {
  alignas(64) std::int8_t lhs_bytes[kLhsBytes];
  alignas(64) std::int8_t rhs_bytes[kRhsBytes];
  alignas(64) float lhs_floats[kLhsBytes / 4];
  alignas(64) float rhs_floats[kRhsBytes / 4];

  Operands() {
    std::mt19937 random(20);
    const auto fill_bytes = [&random](std::int8_t* begin, std::ptrdiff_t size) {
      std::generate(begin, begin + size, [&random] {
        return static_cast<std::int8_t>(random() >> 24);
      });
    };
    const auto fill_floats = [&random](float* begin, std::ptrdiff_t size) {
      std::uniform_real_distribution<float> magnitude(0.5f, 1.0f);
      std::generate(begin, begin + size, [&] {
        return (random() & 1) != 0 ? magnitude(random) : -magnitude(random);
      });
    };
    fill_bytes(lhs_bytes, kLhsBytes);
    fill_bytes(rhs_bytes, kRhsBytes);
    fill_floats(lhs_floats, kLhsBytes / 4);
    fill_floats(rhs_floats, kRhsBytes / 4);
  }
  const void* lhs(float) const { return lhs_floats; }
  const void* rhs(float) const { return rhs_floats; }
  const void* lhs(Integers) const { return lhs_bytes; }
  const void* rhs(Integers) const { return rhs_bytes; }
};

const Operands& TheOperands() {
  static const Operands& operands = *new Operands;
  return operands;
}

typedef float Float128 __attribute__((vector_size(16)));
typedef float Float256 __attribute__((vector_size(32)));
typedef float Float512 __attribute__((vector_size(64)));
typedef Integers Int128 __attribute__((vector_size(16)));
typedef Integers Int256 __attribute__((vector_size(32)));
typedef Integers Int512 __attribute__((vector_size(64)));

// ## Inner steps
//
// Each is a macro of a register name's prefix, the instruction, two operands
// and an accumulator. Registers 12 and 13 hold operands of the lhs, 14 of the
// rhs, 15 is free.

#define RUY_LIKE_REG(w, n) "%%" w "mm" #n
// Accumulates by itself; or a multiplication alone, whose result is not used.
#define RUY_LIKE_LONE(w, op, a, c) \
  op " " RUY_LIKE_REG(w, 14) ", " RUY_LIKE_REG(w, a) ", %" #c "\n\t"
// VPMADDWD and the addition.
#define RUY_LIKE_PAIR(w, op, a, c) \
  op " " RUY_LIKE_REG(w, 14) ", " RUY_LIKE_REG(w, a) ", "      \
     RUY_LIKE_REG(w, 15) "\n\t"                                \
     "vpaddd " RUY_LIKE_REG(w, 15) ", %" #c ", %" #c "\n\t"
// SSE overwrites an operand, hence the copy.
#define RUY_LIKE_SSE(op, add, a, c)                                       \
  "movaps " RUY_LIKE_REG("x", a) ", " RUY_LIKE_REG(                       \
      "x", 15) "\n\t" op                                                  \
               " " RUY_LIKE_REG("x", 14) ", " RUY_LIKE_REG(               \
                   "x", 15) "\n\t" add " " RUY_LIKE_REG("x", 15) ", %" #c \
                                                                 "\n\t"
#define RUY_LIKE_SSE_FLOAT(w, op, a, c) RUY_LIKE_SSE(op, "addps", a, c)
#define RUY_LIKE_SSE_INT(w, op, a, c) RUY_LIKE_SSE(op, "paddd", a, c)

// How operands get into registers.
#define RUY_LIKE_LOAD(w, bytes, a) \
  "vmovups " #bytes "(%12), " RUY_LIKE_REG(w, a) "\n\t"
#define RUY_LIKE_BROADCAST(w, bytes) \
  "vbroadcastss " #bytes "(%13), " RUY_LIKE_REG(w, 14) "\n\t"
#define RUY_LIKE_LOAD_SSE(w, bytes, a) \
  "movups " #bytes "(%12), " RUY_LIKE_REG(w, a) "\n\t"
#define RUY_LIKE_BROADCAST_SSE(w, bytes) \
  "movd " #bytes "(%13), " RUY_LIKE_REG(w, 14) "\n\t"             \
  "pshufd $0, " RUY_LIKE_REG(w, 14) ", " RUY_LIKE_REG(w, 14) "\n\t"
#define RUY_LIKE_NOTHING(w, bytes)

// Twelve accumulators, operands 0 to 11 of the asm statement, cover a latency
// of 5 at two instructions per cycle (VPDPBUSD of Intel's cores, the worst of
// the field) and leave room for operands in 16 registers.
#define RUY_LIKE_STEP(form, broadcast, w, op)                                  \
  broadcast(w, 0) form(w, op, 12, 0) form(w, op, 13, 1) broadcast(w, 4)        \
      form(w, op, 12, 2) form(w, op, 13, 3) broadcast(w, 8) form(w, op, 12, 4) \
          form(w, op, 13, 5) broadcast(w, 12) form(w, op, 12, 6)               \
              form(w, op, 13, 7) broadcast(w, 16) form(w, op, 12, 8)           \
                  form(w, op, 13, 9) broadcast(w, 20) form(w, op, 12, 10)      \
                      form(w, op, 13, 11)
#define RUY_LIKE_ACCUMULATORS                                           \
  "+x"(c0), "+x"(c1), "+x"(c2), "+x"(c3), "+x"(c4), "+x"(c5), "+x"(c6), \
      "+x"(c7), "+x"(c8), "+x"(c9), "+x"(c10), "+x"(c11)

// No loop's asm statement clobbers memory, or accumulators would go there and
// back each time; the operands are written before the one that does.
//
// <Name>Registers(iterations) does so many steps; <Name>L1(iterations) goes
// through the operands so many times.
#define RUY_LIKE_PEAK_LOOPS(Name, kTarget, Vector, Element, kVectorBytes, w,  \
                            form, load, broadcast, op)                        \
  __attribute__((target(kTarget))) void Name##Registers(                      \
      std::ptrdiff_t iterations) {                                            \
    const void* lhs = TheOperands().lhs(Element{});                           \
    const void* rhs = TheOperands().rhs(Element{});                           \
    Vector c0 = {}, c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0,     \
           c7 = c0, c8 = c0, c9 = c0, c10 = c0, c11 = c0;                     \
    asm volatile("" ::: "memory");                                            \
    for (; iterations > 0; --iterations) {                                    \
      /* Loaded once for ten steps, as a statement cannot keep registers. */  \
      asm volatile(                                                           \
          load(w, 0, 12) load(w, kVectorBytes, 13) broadcast(w, 0)            \
              RUY_LIKE_TEN(RUY_LIKE_STEP(form, RUY_LIKE_NOTHING, w, op))      \
          : RUY_LIKE_ACCUMULATORS                                             \
          : "r"(lhs), "r"(rhs)                                                \
          : "xmm12", "xmm13", "xmm14", "xmm15");                              \
    }                                                                         \
  }                                                                           \
  __attribute__((target(kTarget))) void Name##L1(std::ptrdiff_t iterations) { \
    const Operands& operands = TheOperands();                                 \
    const char* const lhs_begin =                                             \
        static_cast<const char*>(operands.lhs(Element{}));                    \
    const char* const rhs_begin =                                             \
        static_cast<const char*>(operands.rhs(Element{}));                    \
    Vector c0 = {}, c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0,     \
           c7 = c0, c8 = c0, c9 = c0, c10 = c0, c11 = c0;                     \
    asm volatile("" ::: "memory");                                            \
    for (; iterations > 0; --iterations) {                                    \
      const char* rhs = rhs_begin;                                            \
      for (const char* lhs = lhs_begin; lhs < lhs_begin + kLhsBytes;          \
           lhs += 2 * kVectorBytes) {                                         \
        asm volatile(load(w, 0, 12) load(w, kVectorBytes, 13)                 \
                         RUY_LIKE_STEP(form, broadcast, w, op)                \
                     : RUY_LIKE_ACCUMULATORS                                  \
                     : "r"(lhs), "r"(rhs)                                     \
                     : "xmm12", "xmm13", "xmm14", "xmm15");                   \
        rhs += kRhsStep;                                                      \
      }                                                                       \
    }                                                                         \
  }
#define RUY_LIKE_TEN(x) x x x x x x x x x x
constexpr int kStepsOfRegisters = 10;

RUY_LIKE_PEAK_LOOPS(MulPs128, "sse2", Float128, float, 16, "x",
                    RUY_LIKE_SSE_FLOAT, RUY_LIKE_LOAD_SSE,
                    RUY_LIKE_BROADCAST_SSE, "mulps")
RUY_LIKE_PEAK_LOOPS(PmAddWd128, "sse2", Int128, Integers, 16, "x",
                    RUY_LIKE_SSE_INT, RUY_LIKE_LOAD_SSE, RUY_LIKE_BROADCAST_SSE,
                    "pmaddwd")
RUY_LIKE_PEAK_LOOPS(FmaPs256, "avx2,fma", Float256, float, 32, "y",
                    RUY_LIKE_LONE, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "vfmadd231ps")
RUY_LIKE_PEAK_LOOPS(PmAddWd256, "avx2", Int256, Integers, 32, "y",
                    RUY_LIKE_LONE, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "vpmaddwd")
RUY_LIKE_PEAK_LOOPS(PmAddWdPair256, "avx2", Int256, Integers, 32, "y",
                    RUY_LIKE_PAIR, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "vpmaddwd")
RUY_LIKE_PEAK_LOOPS(FmaPs512, "avx512f", Float512, float, 64, "z",
                    RUY_LIKE_LONE, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "vfmadd231ps")
RUY_LIKE_PEAK_LOOPS(PmAddWd512, "avx512f,avx512bw", Int512, Integers, 64, "z",
                    RUY_LIKE_LONE, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "vpmaddwd")
RUY_LIKE_PEAK_LOOPS(PmAddWdPair512, "avx512f,avx512bw", Int512, Integers, 64,
                    "z", RUY_LIKE_PAIR, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "vpmaddwd")
RUY_LIKE_PEAK_LOOPS(PdpBusd512, "avx512f,avx512vnni", Int512, Integers, 64, "z",
                    RUY_LIKE_LONE, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "vpdpbusd")
RUY_LIKE_PEAK_LOOPS(PdpWssd512, "avx512f,avx512vnni", Int512, Integers, 64, "z",
                    RUY_LIKE_LONE, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "vpdpwssd")
#if defined(RUY_LIKE_BENCH_HAVE_AVXVNNI)
RUY_LIKE_PEAK_LOOPS(PdpBusd256, "avx2,avxvnni", Int256, Integers, 32, "y",
                    RUY_LIKE_LONE, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "%{vex%} vpdpbusd")
RUY_LIKE_PEAK_LOOPS(PdpWssd256, "avx2,avxvnni", Int256, Integers, 32, "y",
                    RUY_LIKE_LONE, RUY_LIKE_LOAD, RUY_LIKE_BROADCAST,
                    "%{vex%} vpdpwssd")
#endif

#if defined(RUY_LIKE_BENCH_HAVE_AMX)
constexpr int kTiles = 6;     // accumulators of the register loop
constexpr int kFedTiles = 4;  // and of the other one: two by two
constexpr std::ptrdiff_t kAmxTileBytes = 16 * 64;

// The operand of LDTILECFG: eight tiles of 16 rows of 64 bytes.
struct TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Six accumulator tiles: a tile product takes 52 cycles, one can start
// every 16.
__attribute__((target("amx-tile,amx-int8"))) void TDpBssdRegisters(
    std::ptrdiff_t iterations) {
  const TileConfig config;
  const std::ptrdiff_t stride = 64;
  asm volatile(
      "ldtilecfg %0\n\t"
      "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\t"
      "tilezero %%tmm3\n\ttilezero %%tmm4\n\ttilezero %%tmm5\n\t"
      "tileloadd (%1,%3), %%tmm6\n\ttileloadd (%2,%3), %%tmm7"
      :
      : "m"(config), "r"(TheOperands().lhs_bytes), "r"(TheOperands().rhs_bytes),
        "r"(stride)
      : "memory");
  for (; iterations > 0; --iterations) {
    asm volatile(
        "tdpbssd %tmm7, %tmm6, %tmm0\n\ttdpbssd %tmm7, %tmm6, %tmm1\n\t"
        "tdpbssd %tmm7, %tmm6, %tmm2\n\ttdpbssd %tmm7, %tmm6, %tmm3\n\t"
        "tdpbssd %tmm7, %tmm6, %tmm4\n\ttdpbssd %tmm7, %tmm6, %tmm5");
  }
  asm volatile("tilerelease");
}

// Two tiles of each side for four products; 8 KiB of each side.
constexpr std::ptrdiff_t kFedBytes = 8 << 10;
__attribute__((target("amx-tile,amx-int8"))) void TDpBssdL1(
    std::ptrdiff_t iterations) {
  const TileConfig config;
  const std::ptrdiff_t stride = 64;
  const Operands& operands = TheOperands();
  asm volatile(
      "ldtilecfg %0\n\t"
      "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\t"
      "tilezero %%tmm3"
      :
      : "m"(config)
      : "memory");
  for (; iterations > 0; --iterations) {
    for (std::ptrdiff_t at = 0; at < kFedBytes; at += 2 * kAmxTileBytes) {
      asm volatile(
          "tileloadd (%0,%2), %%tmm4\n\ttileloadd (%1,%2), %%tmm6\n\t"
          "tdpbssd %%tmm6, %%tmm4, %%tmm0\n\t"
          "tileloadd 1024(%1,%2), %%tmm7\n\t"
          "tdpbssd %%tmm7, %%tmm4, %%tmm1\n\t"
          "tileloadd 1024(%0,%2), %%tmm5\n\t"
          "tdpbssd %%tmm6, %%tmm5, %%tmm2\n\t"
          "tdpbssd %%tmm7, %%tmm5, %%tmm3"
          :
          : "r"(operands.lhs_bytes + at), "r"(operands.rhs_bytes + at),
            "r"(stride)
          : "memory");
    }
  }
  asm volatile("tilerelease");
}
#endif  // RUY_LIKE_BENCH_HAVE_AMX

// Both probes of an instruction; `ops` are those of one instruction.
constexpr std::uint32_t Bit(Family family) {
  return 1u << static_cast<int>(family);
}
constexpr std::uint32_t kInt8 = Bit(Family::k8x8);
constexpr std::uint32_t kInt16 = Bit(Family::k8x16) | Bit(Family::k16x8);
constexpr std::uint32_t kFloat = Bit(Family::kF32);

#define RUY_LIKE_PROBES(name, families, features, kVectorBytes, ops, Loop) \
  {name,                                                                   \
   families,                                                               \
   Feed::kRegisters,                                                       \
   features,                                                               \
   kStepsOfRegisters * kProducts * (ops),                                  \
   Loop##Registers},                                                       \
  {                                                                        \
    name, families, Feed::kL1, features,                                   \
        kLhsBytes / (2.0 * kVectorBytes) * kProducts*(ops), Loop##L1       \
  }

const PeakProbe kProbes[] = {
    RUY_LIKE_PROBES("mulps+addps_128", kFloat, 0, 16, 8.0, MulPs128),
    RUY_LIKE_PROBES("pmaddwd+paddd_128", kInt8 | kInt16, 0, 16, 16.0,
                    PmAddWd128),
    RUY_LIKE_PROBES("vfmadd_256", kFloat, kCpuFma, 32, 16.0, FmaPs256),
    RUY_LIKE_PROBES("vpmaddwd_256", 0, kCpuAvx2, 32, 32.0, PmAddWd256),
    RUY_LIKE_PROBES("vpmaddwd+vpaddd_256", kInt8 | kInt16, kCpuAvx2, 32, 32.0,
                    PmAddWdPair256),
#if defined(RUY_LIKE_BENCH_HAVE_AVXVNNI)
    RUY_LIKE_PROBES("vpdpwssd_256", kInt16, kCpuAvxVnni, 32, 32.0, PdpWssd256),
    RUY_LIKE_PROBES("vpdpbusd_256", kInt8, kCpuAvxVnni, 32, 64.0, PdpBusd256),
#endif
    RUY_LIKE_PROBES("vfmadd_512", kFloat, kCpuAvx512, 64, 32.0, FmaPs512),
    RUY_LIKE_PROBES("vpmaddwd_512", 0, kCpuAvx512, 64, 64.0, PmAddWd512),
    RUY_LIKE_PROBES("vpmaddwd+vpaddd_512", kInt8 | kInt16, kCpuAvx512, 64, 64.0,
                    PmAddWdPair512),
    RUY_LIKE_PROBES("vpdpwssd_512", kInt16, kCpuAvx512Vnni, 64, 64.0,
                    PdpWssd512),
    RUY_LIKE_PROBES("vpdpbusd_512", kInt8, kCpuAvx512Vnni, 64, 128.0,
                    PdpBusd512),
#if defined(RUY_LIKE_BENCH_HAVE_AMX)
    {"tdpbssd", kInt8, Feed::kRegisters, kCpuAmx, kTiles * 16 * 16 * 64 * 2.0,
     TDpBssdRegisters},
    {"tdpbssd", kInt8, Feed::kL1, kCpuAmx,
     kFedBytes / (2 * kAmxTileBytes) * kFedTiles * 16 * 16 * 64 * 2.0,
     TDpBssdL1},
#endif
};

#else  // not x86: no peaks are known here

const PeakProbe kProbes[] = {
    {"none", 0, Feed::kRegisters, ~CpuFeatures{0}, 0, nullptr}};

#endif

}  // namespace

const PeakProbe* PeakProbes(int* count) {
  *count = static_cast<int>(sizeof(kProbes) / sizeof(kProbes[0]));
  return kProbes;
}

}  // namespace ruy_like::bench
