// Back-end: lists of indices for templates, Indices<0, 1, ... n - 1>.
//
// std::integer_sequence, without the standard library: its templates would
// leave weak symbols in files that are built for one instruction set.
#ifndef RUY_LIKE_KERNELS_PANEL_INDICES_H_
#define RUY_LIKE_KERNELS_PANEL_INDICES_H_

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

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_INDICES_H_
