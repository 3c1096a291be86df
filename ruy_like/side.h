// Public: the two operands of a product, and pairs of things that both have.
#ifndef RUY_LIKE_SIDE_H_
#define RUY_LIKE_SIDE_H_

#include <cstdint>

namespace ruy_like {

// An operand of a product. Things that both have are often members
// of a SidePair; loops over both use kSides.
enum class Side : std::uint8_t { kLhs, kRhs };

constexpr Side kSides[] = {Side::kLhs, Side::kRhs};

constexpr Side Other(Side side) {
  return side == Side::kLhs ? Side::kRhs : Side::kLhs;
}

template <typename T>
struct SidePair {
  T lhs;
  T rhs;
  T& operator[](Side side) { return side == Side::kLhs ? lhs : rhs; }
  const T& operator[](Side side) const {
    return side == Side::kLhs ? lhs : rhs;
  }
};

// f(side) of either, in code of its own each.
template <typename F>
inline __attribute__((always_inline)) void ForBothSides(const F& f) {
  f(Side::kLhs);
  f(Side::kRhs);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_SIDE_H_
