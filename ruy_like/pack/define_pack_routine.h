// Back-end: how a pack file defines the routines that pack_routines.h lists.
//
// Included by pack/<path>.cc, each of which gets its own copy (anonymous
// namespace). Such a file says what
// PackAs<source element bytes, PackedAs, width, group>(args) is there, and
// hands RUY_LIKE_DEFINE_PACK_ROUTINE to its list.
#ifndef RUY_LIKE_PACK_DEFINE_PACK_ROUTINE_H_
#define RUY_LIKE_PACK_DEFINE_PACK_ROUTINE_H_

#include "ruy_like/pack/pack.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/scalar.h"

namespace ruy_like {
namespace kernels {
namespace {

constexpr int kSourceBytes8 = 1;
constexpr int kSourceBytes16 = 2;
constexpr int kSourceBytesF32 = 4;

template <Scalar kScalar_, ValueRange kRange_ = ValueRange::kFull>
struct PackedAs {
  static constexpr Scalar kScalar = kScalar_;
  static constexpr ValueRange kRange = kRange_;
};
typedef PackedAs<Scalar::kI8> PackedS8;
typedef PackedAs<Scalar::kU8> PackedU8;
typedef PackedAs<Scalar::kU8, ValueRange::kInt7> PackedU7;
typedef PackedAs<Scalar::kI16> PackedS16;
typedef PackedAs<Scalar::kF32> PackedF32;

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#define RUY_LIKE_DEFINE_PACK_ROUTINE(Path, source, packed, width, group) \
  void Pack##Path##_##source##_##packed##_##width##x##group(             \
      const PackArgs* args) {                                            \
    PackAs<kSourceBytes##source, Packed##packed, width, group>(args);    \
  }

#endif  // RUY_LIKE_PACK_DEFINE_PACK_ROUTINE_H_
