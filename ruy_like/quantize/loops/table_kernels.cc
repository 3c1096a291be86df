// Tested in test/quantize/layers/byte_table_test.cc.
#include "ruy_like/quantize/loops/table_kernels.h"

#include <type_traits>

#include "ruy_like/quantize/loops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/table_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<std::uint8_t>;
using V = hn::Vec<D>;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

// `high` where x is 128 or more.
HWY_INLINE V Either(V x, V low, V high) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(
      D(), hn::IfNegativeThenElse(hn::BitCast(di, x), hn::BitCast(di, high),
                                  hn::BitCast(di, low)));
}

// PSHUFB looks up in a slice of 16 bytes, by the low bits of an index, and
// gives 0 where the index is negative. The index moves down a slice at a time,
// and of each slice but the first there is its difference (XOR) from the one
// before: what is found until the index is negative makes up the element. The
// halves of the table share the index.
//
// 41 instructions a vector, on three ports, or on two with 512 bits: at most
// 2.3 or 3.1 bytes a cycle.
struct SlicesOp {
  explicit SlicesOp(const std::uint8_t* table) {
    for (int i = 0; i < 16; ++i, table += 16) {
      slices[i] = hn::LoadDup128(D(), table);
      if (i % 8 > 0) {
        slices[i] = hn::Xor(slices[i], hn::LoadDup128(D(), table - 16));
      }
    }
  }
  HWY_INLINE V operator()(V x) const {
    V index = hn::And(x, hn::Set(D(), 0x7f));
    V low = hn::Zero(D()), high = low;
    for (int i = 0; i < 8; ++i) {
      low = hn::Xor(low, hn::TableLookupBytes(slices[i], index));
      high = hn::Xor(high, hn::TableLookupBytes(slices[8 + i], index));
      index = hn::Sub(index, hn::Set(D(), 16));
    }
    return Either(x, low, high);
  }
  V slices[16];
};

#if HWY_TARGET <= HWY_AVX3

// VPERMI2B looks up in each half of the table: two times two cycles, at most 16
// bytes a cycle. In assembly, as VPDPBUSD is (dot_steps-inl.h).
struct HalvesOp {
  explicit HalvesOp(const std::uint8_t* table)
      : quarters{hn::LoadU(D(), table), hn::LoadU(D(), table + 64),
                 hn::LoadU(D(), table + 128), hn::LoadU(D(), table + 192)} {}
  HWY_INLINE V operator()(V x) const {
    V low = x, high = x;
    asm("vpermi2b %2, %1, %0"
        : "+v"(low.raw)
        : "v"(quarters[0].raw), "v"(quarters[1].raw));
    asm("vpermi2b %2, %1, %0"
        : "+v"(high.raw)
        : "v"(quarters[2].raw), "v"(quarters[3].raw));
    return Either(x, low, high);
  }
  V quarters[4];
};

#endif  // HWY_TARGET <= HWY_AVX3

#elif HWY_ARCH_ARM_A64 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR

// TBL and TBX look up in 64 bytes; other indices give 0, or what was there.
struct SlicesOp {
  explicit SlicesOp(const std::uint8_t* table) {
    for (int i = 0; i < 16; ++i) {
      quarters[i / 4].val[i % 4] = vld1q_u8(table + 16 * i);
    }
  }
  HWY_INLINE V operator()(V x) const {
    V y(vqtbl4q_u8(quarters[0], x.raw));
    for (int i = 1; i < 4; ++i) {
      const auto start = hn::Set(D(), static_cast<std::uint8_t>(64 * i));
      y.raw = vqtbx4q_u8(y.raw, quarters[i], hn::Sub(x, start).raw);
    }
    return y;
  }
  uint8x16x4_t quarters[4];
};

#else

using SlicesOp = void;

#endif

template <class Op>
void LookUp(const std::uint8_t* from, std::size_t n, const std::uint8_t* table,
            std::uint8_t* to) {
  std::size_t i = 0;
  if constexpr (!std::is_void<Op>::value) {
    // Fewer take no longer than loading the table.
    if (n >= 64) {
      const Op op(table);
      const std::size_t lanes = hn::Lanes(D());
      for (; i + lanes <= n; i += lanes) {
        hn::StoreU(op(hn::LoadU(D(), from + i)), D(), to + i);
      }
    }
  }
  for (; i < n; ++i) to[i] = table[from[i]];
}

TableFunction* GetTableKernel([[maybe_unused]] bool has_vbmi) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (has_vbmi) return LookUp<HalvesOp>;
#endif
  return LookUp<SlicesOp>;
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetTableKernel);

TableFunction* TableKernelFor(const Context* context) {
  return HWY_DISPATCH_TABLE(GetTableKernel)[TargetIndex(TargetsFor(context))](
      PermitsVbmi(context));
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
