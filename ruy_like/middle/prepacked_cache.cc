#include "ruy_like/middle/prepacked_cache.h"

#include <new>
#include <utility>

namespace ruy_like {

PrepackedKey KeyOf(const Operand& operand, const kernels::PanelFormat& format) {
  return PrepackedKey{operand.data,
                      operand.width,
                      operand.depth,
                      operand.stride,
                      operand.zero_point,
                      operand.scalar,
                      operand.depth_contiguous,
                      format};
}

bool operator==(const PrepackedKey& a, const PrepackedKey& b) {
  return a.data == b.data && a.width == b.width && a.depth == b.depth &&
         a.stride == b.stride && a.zero_point == b.zero_point &&
         a.scalar == b.scalar && a.depth_contiguous == b.depth_contiguous &&
         a.format == b.format;
}

PrepackedCache::Value PrepackedCache::Find(const PrepackedKey& key) {
  // A model with one product in its loop finds its weights in front.
  if (!entries_.empty() && entries_.front().key == key) {
    return entries_.front().value;
  }
  const auto found = map_.find(key);
  if (found == map_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->value;
}

void PrepackedCache::Insert(const PrepackedKey& key, Value value) {
  const auto found = map_.find(key);
  if (found != map_.end()) Erase(found->second);
  const std::size_t bytes = value->storage.bytes();
  if (bytes > limit_bytes_) return;
  EvictDownTo(limit_bytes_ - bytes);
  try {
    entries_.push_front(Entry{key, std::move(value)});
  } catch (const std::bad_alloc&) {
    return;
  }
  try {
    map_.emplace(key, entries_.begin());
  } catch (const std::bad_alloc&) {
    entries_.pop_front();
    return;
  }
  buffers_bytes_ += bytes;
}

void PrepackedCache::set_limit_bytes(std::size_t bytes) {
  limit_bytes_ = bytes;
  EvictDownTo(bytes);
}

void PrepackedCache::Clear() {
  map_.clear();
  entries_.clear();
  buffers_bytes_ = 0;
}

void PrepackedCache::Erase(List::iterator entry) {
  buffers_bytes_ -= entry->value->storage.bytes();
  map_.erase(entry->key);
  entries_.erase(entry);
}

void PrepackedCache::EvictDownTo(std::size_t bytes) {
  while (buffers_bytes_ > bytes) Erase(std::prev(entries_.end()));
}

}  // namespace ruy_like
