// Drop-in for ruy: PrepackedCache, the view of a Context's cache of packed
// operands. Got from Ctx::GetPrepackedCache(); operands enter the cache through
// Matrix::set_cache_policy alone.
#ifndef RUY_LIKE_DROPIN_RUY_PREPACKED_CACHE_H_
#define RUY_LIKE_DROPIN_RUY_PREPACKED_CACHE_H_

#include <cstddef>

#include "ruy/dropin_visibility.h"
#include "ruy_like/context.h"

namespace ruy {

class RUY_LIKE_DROPIN_EXPORT PrepackedCache final {
 public:
  // The limit that a Context starts with, as in ruy.
  static constexpr int kDefaultMaxBuffersBytes = 1 << 28;

  explicit PrepackedCache(const ruy_like::Context* context);

  // Size of the packed operands held.
  std::ptrdiff_t BuffersBytes() const;

 private:
  const ruy_like::Context* context_;
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_PREPACKED_CACHE_H_
