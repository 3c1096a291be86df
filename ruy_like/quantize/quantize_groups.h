// Quantization toolkit, public: weights with group scales, made of floats or
// taken from other libraries' formats.
//
// For whoever prepares a layer, once: what these return, PackGroupWeights packs
// (ruy_like/group_weights.h).
#ifndef RUY_LIKE_QUANTIZE_QUANTIZE_GROUPS_H_
#define RUY_LIKE_QUANTIZE_QUANTIZE_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ruy_like/export.h"
#include "ruy_like/float16.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/matrix.h"

namespace ruy_like {

// Weights and the memory of what describes them.
struct QuantizedGroups {
  std::vector<std::uint8_t> levels;       // as GroupWeights has them
  std::vector<std::int8_t> table;         // or empty
  std::vector<float> float_scales;        // either these
  std::vector<Float16> half_scales;       // or these
  std::vector<BFloat16> bfloat_scales;    // or these
  std::vector<std::uint8_t> zero_points;  // int8 ones modulo 256
  std::vector<std::int32_t> depth_order;  // of act-order, or empty
  std::ptrdiff_t rows = 0, depth = 0, group_size = 0;
  int bits = 4;
  int zero_point = 8;  // where zero_points is empty

  // Valid as long as this object lives unchanged.
  RUY_LIKE_EXPORT GroupWeights description() const;
};

// How QuantizeGroups chooses a group's scale.
enum class GroupScaleSearch : std::uint8_t {
  kNone,  // the one that maps the greatest magnitude onto the last code
  kMse,   // of that one and some nearby, the one with the least sum of squared
          // errors
};

// Symmetric codes, rounded to nearest, of rows x depth weights in either
// order:
//
//   scale = max |w| / 7 (4 bits), / 127 (8 bits)
//   code = clamp(rint(w / scale), -8, 7 or -127, 127) + zero point
//
// with zero point 8 for 4 bits and 0 for 8 bits. group_size as in GroupWeights.
// InvalidArgument for other bits, a bad group size, a matrix that is not valid
// or has no elements, an unknown search or a weight that is not finite;
// OutOfRange for a matrix whose bytes cannot be counted.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> QuantizeGroups(
    const Matrix<float>& weights, int bits, std::ptrdiff_t group_size,
    GroupScaleSearch search = GroupScaleSearch::kNone);

// Formats of ggml's blocks, by their elements and bytes.
enum class GgmlType : std::uint8_t {
  kQ4_0,    // 32, 18
  kQ4_1,    // 32, 20: with a minimum; see below
  kQ5_0,    // 32, 22: 8 bits here
  kQ5_1,    // 32, 24: 8 bits here, with a minimum
  kQ8_0,    // 32, 34
  kQ2_0,    // 64, 18: values -1 to 2
  kTQ2_0,   // 256, 66: the same, ternary
  kIQ4_NL,  // 32, 18: a table of 16 values
  kMXFP4,   // 32, 17: E2M1, whose scales are powers of two
  kNVFP4,  // 64, 36: E2M1 with E4M3 scales of 16; the tensor's own scale is the
           // caller's to apply
};

// From rows of ggml's blocks. depth must be a multiple of a block; `bytes` is
// the size of `blocks`, at least that of all rows. InvalidArgument otherwise,
// and for scales of MXFP4 and NVFP4, and minima, that are not finite.
//
// All but Q4_1 and Q5_1 stand for the same numbers as there. With a minimum a
// weight is scale * code + minimum, which integer zero points are only near to:
// codes become values 16 apart (of 5 bits 8; half of that where zero points
// would leave int8), with scales that many times smaller, so that minima are
// off by at most 1/32 (1/16, 1/8) of a step, or by nothing where whole zero
// points say them. Where some block's values are so far from 0 that no zero
// point does, all weights are quantized anew to 8 bits, each off by at most
// 1/254 of its block's greatest magnitude.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> ImportGgml(
    GgmlType type, const void* blocks, std::size_t bytes, std::ptrdiff_t rows,
    std::ptrdiff_t depth);

// The inputs of ONNX's MatMulNBits.
struct MatMulNBits {
  int bits = 4;                        // 2, 4 or 8
  std::ptrdiff_t rows = 0, depth = 0;  // N and K
  std::ptrdiff_t block_size = 32;      // a multiple of 16
  // B, [rows][blocks][block_size * bits / 8] bytes, first elements in low bits;
  // blocks = depth / block_size, rounded up.
  const std::uint8_t* b = nullptr;
  // [rows][blocks] of float or Float16.
  const void* scales = nullptr;
  Scalar scale_type = Scalar::kF32;
  // Null for half of the codes; kU8: packed as B, [rows][blocks * bits / 8,
  // rounded up]; kF32, kF16: [rows][blocks], which are kept as minima of
  // ImportGgml are, but of 8 bits are rounded to whole ones.
  const void* zero_points = nullptr;
  Scalar zero_point_type = Scalar::kU8;
};

// InvalidArgument for null arrays, other types, zero points that are not
// finite, sizes that are not positive or whose bytes cannot be counted, and a
// block_size that is no multiple of 16.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> ImportMatMulNBits(
    const MatMulNBits& arrays);

// The names and arguments of version 0.2, which go with the next one.
inline absl::StatusOr<QuantizedGroups> ImportGgmlQ4_0(const void* blocks,
                                                      std::size_t bytes,
                                                      std::ptrdiff_t rows,
                                                      std::ptrdiff_t depth) {
  return ImportGgml(GgmlType::kQ4_0, blocks, bytes, rows, depth);
}
inline absl::StatusOr<QuantizedGroups> ImportGgmlQ8_0(const void* blocks,
                                                      std::size_t bytes,
                                                      std::ptrdiff_t rows,
                                                      std::ptrdiff_t depth) {
  return ImportGgml(GgmlType::kQ8_0, blocks, bytes, rows, depth);
}
inline absl::StatusOr<QuantizedGroups> ImportMatMulNBits(
    const std::uint8_t* b, const float* scales, const std::uint8_t* zero_points,
    std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t block_size) {
  MatMulNBits arrays;
  arrays.rows = rows;
  arrays.depth = depth;
  arrays.block_size = block_size;
  arrays.b = b;
  arrays.scales = scales;
  arrays.zero_points = zero_points;
  return ImportMatMulNBits(arrays);
}

// How a GPTQ file holds zero points: quantize_config.json's checkpoint_format
// is "gptq" (v1) or "gptq_v2". Some writers of v2 say "gptq"; zero points of
// symmetric weights tell: all are stored as 7 in v1 and as 8 in v2.
//
// A stored 15 in v1 is only in files of asymmetric weights and depends on the
// writer. Quantizers have zero points of 0 to 15, so that it was made of 0, by
// taking 1 modulo 16 (kV1Modulo16: what packs each zero point by itself, as
// conversions of AWQ) or from a word of eight as a whole, which borrows from
// the next zero point (kV1Words: GPTQModel, which makes v1 of v2 so). AutoGPTQ
// and GPTQ-for-LLaMa pack a 0 as 15 over all later ones of its word, which
// nothing brings back; their files that are of use have no 15.
enum class GptqZeroPoints : std::uint8_t {
  kV2,          // as they are
  kV1,          // less 1; a stored 15 is refused
  kV1Modulo16,  // less 1, each modulo 16: a stored 15 is 0
  kV1Words,     // each word less 0x11111111, modulo 2^32
};

// From GPTQ's arrays of 4 bits: qweight, [depth / 8][rows] with element 8 * i +
// j in bits 4 * j; scales, [groups][rows]; qzeros, [groups][rows / 8], in the
// same order of bits, as `zero_points` says. g_idx has the group of each
// element of depth, or is null where they are consecutive; with act-order the
// result has a depth_order, by which products gather activations. depth and
// rows are multiples of 8, depth also of group_size, which is depth for the -1
// of quantize_config.json. InvalidArgument otherwise, and for null arrays, an
// unknown `zero_points`, a stored 15 with kV1 or groups in g_idx that are out
// of range or not of group_size elements.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> ImportGptq(
    const std::int32_t* qweight, const Float16* scales,
    const std::int32_t* qzeros, GptqZeroPoints zero_points, std::ptrdiff_t rows,
    std::ptrdiff_t depth, std::ptrdiff_t group_size,
    const std::int32_t* g_idx = nullptr);

// From AWQ's arrays of 4 bits: qweight, [depth][rows / 8], and qzeros,
// [groups][rows / 8], whose words have rows 0 2 4 6 1 3 5 7 from the lowest
// bits on; scales as GPTQ's. The rest as for ImportGptq.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> ImportAwq(
    const std::int32_t* qweight, const Float16* scales,
    const std::int32_t* qzeros, std::ptrdiff_t rows, std::ptrdiff_t depth,
    std::ptrdiff_t group_size);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_QUANTIZE_GROUPS_H_
