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
  std::vector<std::uint8_t> levels;  // 4 bits: two in a byte
  std::vector<float> float_scales;   // either these
  std::vector<Float16> half_scales;  // or these
  std::vector<std::uint8_t> zero_points;
  std::ptrdiff_t rows = 0, depth = 0, group_size = 0;
  int bits = 4;
  int zero_point = 8;  // where zero_points is empty

  // Valid as long as this object lives unchanged.
  RUY_LIKE_EXPORT GroupWeights description() const;
};

// How QuantizeGroups chooses a group's scale.
enum class GroupScaleSearch : std::uint8_t {
  kNone,  // the one that maps the greatest magnitude onto the last level
  kMse,   // of that one and some nearby, the one with the least sum of squared
          // errors
};

// Symmetric levels, rounded to nearest, of rows x depth weights in either
// order:
//
//   scale = max |w| / 7 (4 bits), / 127 (8 bits)
//   level = clamp(rint(w / scale), -8, 7 or -127, 127) + zero point
//
// with zero point 8 for 4 bits and 0 for 8 bits. group_size as in GroupWeights.
// InvalidArgument for other bits, a bad group size, a matrix that is not valid
// or has no elements, an unknown search or a weight that is not finite;
// OutOfRange for a matrix whose bytes cannot be counted.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> QuantizeGroups(
    const Matrix<float>& weights, int bits, std::ptrdiff_t group_size,
    GroupScaleSearch search = GroupScaleSearch::kNone);

// From rows of ggml's blocks of 32: of Q4_0 18 bytes each (a float16 scale;
// byte i has element i in its low and element i + 16 in its high nibble; zero
// point 8), of Q8_0 34 bytes (scale, 32 int8). depth must be a multiple of 32;
// `bytes` is the size of `blocks`, at least that of all rows. InvalidArgument
// otherwise.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> ImportGgmlQ4_0(
    const void* blocks, std::size_t bytes, std::ptrdiff_t rows,
    std::ptrdiff_t depth);
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> ImportGgmlQ8_0(
    const void* blocks, std::size_t bytes, std::ptrdiff_t rows,
    std::ptrdiff_t depth);

// From the inputs of ONNX's MatMulNBits with bits = 4: B, [rows][blocks]
// [block_size / 2] bytes with the even element in the low nibble; scales,
// [rows][blocks]; zero_points, null for 8 or [rows][(blocks + 1) / 2] bytes
// with the even block in the low nibble; blocks = depth / block_size, rounded
// up. All arrays have as many elements. InvalidArgument for null arrays and
// sizes that are not positive, or a block_size that is no multiple of 16.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> ImportMatMulNBits(
    const std::uint8_t* b, const float* scales, const std::uint8_t* zero_points,
    std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t block_size);

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

// From GPTQ's arrays of 4 bits without reordering of depth (act-order):
// qweight, [depth / 8][rows] with element 8 * i + j in bits 4 * j; scales,
// [groups][rows]; qzeros, [groups][rows / 8], in the same order of bits, as
// `zero_points` says. depth and rows are multiples of 8, depth also of
// group_size. InvalidArgument otherwise, and for null arrays, an unknown
// `zero_points` or a stored 15 with kV1.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedGroups> ImportGptq(
    const std::int32_t* qweight, const Float16* scales,
    const std::int32_t* qzeros, GptqZeroPoints zero_points, std::ptrdiff_t rows,
    std::ptrdiff_t depth, std::ptrdiff_t group_size);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_QUANTIZE_GROUPS_H_
