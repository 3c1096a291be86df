#include <cstdio>
#include <cstdlib>

#include "ruy/ruy.h"

namespace ruy {
namespace detail {

void MulFailed(const absl::Status& status) {
  std::fprintf(stderr, "ruy::Mul: %s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace detail
}  // namespace ruy
