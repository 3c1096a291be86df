// Packed: packed forms of constant operands, kept between calls of Mul.
//
// Held by the Context, asked by product.cc when an operand's CachePolicy says
// so. It does not pack, and does not look at data: after a change of values at
// the same address it still finds the old packed form.
#ifndef RUY_LIKE_PACKED_PREPACKED_CACHE_H_
#define RUY_LIKE_PACKED_PREPACKED_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "absl/hash/hash.h"
#include "ruy_like/kernels/panel_format.h"
#include "ruy_like/packed/operand.h"
#include "ruy_like/packed/packed_operand.h"

namespace ruy_like {

// All that determines an operand's packed form.
struct PrepackedKey {
  const void* data;
  std::ptrdiff_t width;
  std::ptrdiff_t depth;
  std::ptrdiff_t stride;  // elements
  std::int32_t zero_point;
  Scalar scalar;          // of the source
  bool depth_contiguous;  // order of the source
  kernels::PanelFormat format;
};

// Compares field by field: from && of neighbouring fields GCC makes one wide
// comparison, which stalls on store forwarding where the fields were just
// stored.
inline bool operator==(const PrepackedKey& a, const PrepackedKey& b) {
  const auto fields = [](const PrepackedKey& key) {
    return std::tie(key.data, key.width, key.depth, key.stride, key.zero_point,
                    key.scalar, key.depth_contiguous);
  };
  return fields(a) == fields(b) && a.format == b.format;
}

inline PrepackedKey KeyOf(const Operand& operand,
                          const kernels::PanelFormat& format) {
  return PrepackedKey{operand.data,
                      operand.width,
                      operand.depth,
                      operand.stride,
                      operand.zero_point,
                      operand.scalar,
                      operand.depth_contiguous,
                      format};
}

template <typename H>
H AbslHashValue(H h, const PrepackedKey& key) {
  // Mixes only what commonly differs, which is cheaper; operator== compares
  // all.
  return H::combine(std::move(h), key.data, key.width, key.depth,
                    key.format.width);
}

// Least-recently-used cache, bounded by the memory that it takes. Not
// thread-safe: the Context's lock covers it, but for bytes() and limit_bytes(),
// which any thread may read at any time.
class PrepackedCache final {
 public:
  using Value = std::shared_ptr<const PackedData>;

  static constexpr std::size_t kUnlimited =
      std::numeric_limits<std::size_t>::max();

  PrepackedCache() = default;
  PrepackedCache(const PrepackedCache&) = delete;
  PrepackedCache& operator=(const PrepackedCache&) = delete;

  // The value kept under `key`, now the most recently used one; null if there
  // is none. The reference is valid until something is inserted or evicted;
  // copying the value takes two atomic operations. Allocates nothing.
  const Value& Find(const PrepackedKey& key) {
    // A loop over a single product finds its weights here.
    if (newest_ != nullptr && *newest_->key == key) return newest_->value;
    return FindInMap(key);
  }

  // Another number after anything but a Find of the newest value: while it
  // stays the same, what was found last is there, and is the newest.
  std::uint64_t changes() const { return changes_; }

  // Keeps `value` (not null) under `key`, replacing what was there; then evicts
  // the least recently used others until all is within the limit. A value that
  // alone exceeds the limit is not kept, and evicts nothing else. An evicted or
  // replaced value lives on for those who hold it. When there is no memory for
  // the bookkeeping the value is not kept.
  void Insert(const PrepackedKey& key, Value value);

  // Sum of the kept values' storage.bytes(), and kEntryBytes for each.
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::size_t size() const { return map_.size(); }

  // Unlimited by default: a limit helps only if the constant operands do not
  // fit into memory twice, plain and packed; below the working set of one model
  // it would repack every operand in every pass.
  std::size_t limit_bytes() const {
    return limit_bytes_.load(std::memory_order_relaxed);
  }
  // Evicts at once what is over the new limit.
  void set_limit_bytes(std::size_t bytes);

  void Clear();

 private:
  // Entries are in a list by their last use.
  struct Entry {
    Value value;
    const PrepackedKey* key = nullptr;
    Entry* newer = nullptr;
    Entry* older = nullptr;
  };
  // Not absl::flat_hash_map, which is corrupt after a failed allocation; the
  // standard's emplace then has no effect.
  using Map = std::unordered_map<PrepackedKey, Entry, absl::Hash<PrepackedKey>>;

 public:
  // Bytes of an entry in addition to its buffer: the map's node with its link
  // and hash, the bucket, the PackedData with its reference counts, and the
  // heap's own word for each of three blocks. With tiny operands this is most
  // of the cache's memory.
  static constexpr std::size_t kEntryBytes =
      sizeof(Map::value_type) + sizeof(PackedData) + 8 * sizeof(void*);

 private:
  const Value& FindInMap(const PrepackedKey& key);
  void LinkAsNewest(Entry* entry);
  void Unlink(Entry* entry);
  void Erase(Entry* entry);
  void EvictDownTo(std::size_t bytes);
  static std::size_t BytesOf(const Value& value) {
    return value->storage.bytes() + kEntryBytes;
  }

  Map map_;
  const Value none_;
  Entry* newest_ = nullptr;
  Entry* oldest_ = nullptr;
  std::uint64_t changes_ = 0;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> limit_bytes_{kUnlimited};
};

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_PREPACKED_CACHE_H_
