// Quantization toolkit, internal: which of Highway's targets a call may use.
//
// Included by the files of Highway kernels and by those that call them. The
// choice is per call, by the Context's permitted paths, so it does not go
// through Highway's own choice, which is one for the whole process.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_DISPATCH_H_
#define RUY_LIKE_QUANTIZE_LOOPS_DISPATCH_H_

#include <cstddef>
#include <cstdint>

#include "hwy/targets.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/path.h"
#include "ruy_like/scalar.h"

namespace ruy_like::quantize_internal {

// The paths that `context` permits; null: those of RUY_LIKE_PATHS, read once.
Path PermittedPaths(const Context* context);

// Highway's targets up to what the best of `paths` needs: those of plain
// compilation for the portable path (which on Arm has NEON), AVX2 for the paths
// of that width, AVX-512 for the wider ones; none that the machine lacks.
std::int64_t PermittedTargets(Path paths);

// Both of the above.
inline std::int64_t TargetsFor(const Context* context) {
  return PermittedTargets(PermittedPaths(context));
}

// True if `context` permits a path with VPDPBUSD on 512-bit vectors; AVX-VNNI
// counts as AVX2.
bool PermitsVnni(const Context* context);

// The place of the best of `targets` in a table that HWY_EXPORT made. Inline,
// because it must see the including file's HWY_TARGETS.
inline std::size_t TargetIndex(std::int64_t targets) {
#if HWY_IDE || ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
  (void)targets;
  return 0;
#else
  hwy::ChosenTarget chosen;
  chosen.Update(targets);
  return chosen.GetIndex();
#endif
}

// A table of kernels with one entry per element type. Null for types without a
// kernel, which the operations do not permit.
template <typename Function>
struct ByScalar {
  constexpr ByScalar(Function* i8 = nullptr, Function* u8 = nullptr,  // NOLINT
                     Function* i16 = nullptr, Function* i32 = nullptr,
                     Function* f32 = nullptr)
      : functions{i8, u8, i16, i32, f32} {}
  constexpr Function* operator[](Scalar scalar) const {
    return functions[static_cast<std::size_t>(scalar)];
  }

  // In the order of Scalar.
  Function* functions[kNumScalars];
};
static_assert(static_cast<int>(Scalar::kI8) == 0 &&
                  static_cast<int>(Scalar::kU8) == 1 &&
                  static_cast<int>(Scalar::kI16) == 2 &&
                  static_cast<int>(Scalar::kI32) == 3 &&
                  static_cast<int>(Scalar::kF32) == 4,
              "see ByScalar");

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_DISPATCH_H_
