// Back-end: lists of indices for templates, Indices<0, 1, ... n - 1>, and
// tables of a template's functions for 1, 2 ... n.
//
// std::integer_sequence and std::array, without the standard library: its
// templates would leave weak symbols in files that are built for one
// instruction set.
#ifndef RUY_LIKE_KERNELS_PANEL_INDICES_H_
#define RUY_LIKE_KERNELS_PANEL_INDICES_H_

#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

template <int... kI>
struct Indices {};
template <int kN, int... kI>
struct MakeIndices : MakeIndices<kN - 1, kN - 1, kI...> {};
template <int... kI>
struct MakeIndices<0, kI...> {
  typedef Indices<kI...> Type;
};

template <class Fn, int kCount>
struct FnTable {
  Fn* fns[kCount];
};

// of(Constant<1>()), of(Constant<2>()) ... of(Constant<kCount>()).
template <class Fn, int kCount, class Of, int... kI>
constexpr FnTable<Fn, kCount> TableOf(Of of, Indices<kI...>) {
  return {{of(Constant<kI + 1>())...}};
}
template <class Fn, int kCount, class Of>
constexpr FnTable<Fn, kCount> TableOf(Of of) {
  return TableOf<Fn, kCount>(of, typename MakeIndices<kCount>::Type());
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_INDICES_H_
