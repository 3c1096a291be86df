#include "ruy/prepacked_cache.h"

namespace ruy {

PrepackedCache::PrepackedCache(const ruy_like::Context* context)
    : context_(context) {}

std::ptrdiff_t PrepackedCache::BuffersBytes() const {
  return static_cast<std::ptrdiff_t>(context_->prepacked_cache_bytes());
}

}  // namespace ruy
