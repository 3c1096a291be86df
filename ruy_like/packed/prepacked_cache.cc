#include "ruy_like/packed/prepacked_cache.h"

#include <new>
#include <utility>

namespace ruy_like {

const PrepackedCache::Value& PrepackedCache::FindInMap(
    const PrepackedKey& key) {
  const auto found = map_.find(key);
  if (found == map_.end()) return none_;
  Entry* const entry = &found->second;
  Unlink(entry);
  LinkAsNewest(entry);
  return entry->value;
}

void PrepackedCache::Insert(const PrepackedKey& key, Value value) {
  const auto found = map_.find(key);
  if (found != map_.end()) Erase(&found->second);
  const std::size_t value_bytes = BytesOf(value);
  const std::size_t limit = limit_bytes();
  if (value_bytes > limit) return;
  EvictDownTo(limit - value_bytes);
  try {
    const auto inserted = map_.try_emplace(key).first;
    Entry* const entry = &inserted->second;
    entry->value = std::move(value);
    entry->key = &inserted->first;
    LinkAsNewest(entry);
  } catch (const std::bad_alloc&) {
    return;
  }
  bytes_.store(bytes() + value_bytes, std::memory_order_relaxed);
}

void PrepackedCache::set_limit_bytes(std::size_t bytes) {
  limit_bytes_.store(bytes, std::memory_order_relaxed);
  EvictDownTo(bytes);
}

void PrepackedCache::Clear() {
  // The buckets, too.
  map_ = Map();
  newest_ = nullptr;
  oldest_ = nullptr;
  ++changes_;
  bytes_.store(0, std::memory_order_relaxed);
}

void PrepackedCache::LinkAsNewest(Entry* entry) {
  entry->newer = nullptr;
  entry->older = newest_;
  (newest_ == nullptr ? oldest_ : newest_->newer) = entry;
  newest_ = entry;
  ++changes_;
}

void PrepackedCache::Unlink(Entry* entry) {
  (entry->newer == nullptr ? newest_ : entry->newer->older) = entry->older;
  (entry->older == nullptr ? oldest_ : entry->older->newer) = entry->newer;
  ++changes_;
}

void PrepackedCache::Erase(Entry* entry) {
  bytes_.store(bytes() - BytesOf(entry->value), std::memory_order_relaxed);
  Unlink(entry);
  map_.erase(map_.find(*entry->key));
}

void PrepackedCache::EvictDownTo(std::size_t bytes) {
  while (this->bytes() > bytes) Erase(oldest_);
}

}  // namespace ruy_like
