// Test support: from a Scalar to its C++ type, by the list of scalar.h.
#ifndef RUY_LIKE_TEST_SUPPORT_VISIT_SCALAR_H_
#define RUY_LIKE_TEST_SUPPORT_VISIT_SCALAR_H_

#include <stdint.h>

#include <cstdlib>

#include "ruy_like/float8.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

namespace visit_scalar_internal {

template <Scalar>
struct TypeOf;
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  template <>                                                      \
  struct TypeOf<Scalar::Enum> {                                    \
    using Type = type;                                             \
  };
RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR

}  // namespace visit_scalar_internal

// The element type of a Scalar.
template <Scalar kScalar>
using TypeOf = typename visit_scalar_internal::TypeOf<kScalar>::Type;

// The result of visit(T()), T being the element type of `scalar`.
template <typename Visit>
auto VisitScalar(Scalar scalar, Visit visit) {
  switch (scalar) {
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  case Scalar::Enum:                                               \
    return visit(type());
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
  }
  std::abort();
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_VISIT_SCALAR_H_
