// libFuzzer target: group-scaled weights. Any bytes as an image; descriptors of
// any values; arrays of other libraries' formats. What packs is multiplied, on
// either side, and held against ReferenceGroupMul bit for bit.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/quantize/quantize_groups.h"
#include "ruy_like/reference_group_mul.h"
#include "test/fuzz/fuzz_input.h"
#include "test/fuzz/fuzz_support.h"
#include "test/support/guarded_buffer.h"

namespace ruy_like {
namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Bytes of the input, then pseudo-random ones, at a guard page.
class Bytes final {
 public:
  Bytes(std::ptrdiff_t size, FuzzInput* input)
      : buffer_(static_cast<std::size_t>(size), Flush::kEnd) {
    std::uint32_t seed = input->Byte();
    for (std::ptrdiff_t i = 0; i < size; ++i) {
      seed = seed * 1664525u + 1013904223u;
      // The last ones are for what is chosen later.
      data()[i] =
          static_cast<char>(input->left() > 32 ? input->Byte() : seed >> 24);
    }
  }

  char* data() { return buffer_.data(); }
  std::size_t bytes() const { return buffer_.bytes(); }
  template <typename T>
  T* as() {
    return buffer_.as<T>();
  }

  // Makes finite, but for one input in eight, the floats of either size whose
  // last bytes are those at first, first + step, ...
  Bytes& MakeFinite(std::ptrdiff_t first, std::ptrdiff_t step,
                    FuzzInput* input) {
    const bool keeps = input->Below(8) == 7;
    const auto end = static_cast<std::ptrdiff_t>(bytes());
    for (std::ptrdiff_t i = first; !keeps && i < end; i += step) {
      data()[i] = static_cast<char>(data()[i] & 0xbf);
    }
    return *this;
  }

 private:
  GuardedBuffer buffer_;
};

// All NaN are alike.
bool Same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, 4) == 0;
}

// `weights` is null for those of an image, whose product has no oracle here.
template <typename Activation>
void Multiply(const PackedGroupWeights& packed, const GroupWeights* weights,
              FuzzInput* input) {
  Context* const context = AnyContext(input);
  const std::ptrdiff_t cols = input->Below(50);
  const std::ptrdiff_t rows = packed.rows(), depth = packed.depth();
  if (!IsSmall(depth, std::max<std::ptrdiff_t>(cols, 1)) ||
      !IsSmall(rows, std::max<std::ptrdiff_t>(cols, 1))) {
    return;
  }
  constexpr std::ptrdiff_t kBytes = sizeof(Activation);
  Bytes data(depth * cols * kBytes, input);
  const auto* const values = data.as<Activation>();
  GroupMulParams params;
  params.quantize = input->Below(2) == 0 ? ActivationScales::kPerColumn
                                         : ActivationScales::kPerGroup;
  const auto rhs = ColMajor(values, depth, cols);
  GuardedArray<float> result(static_cast<std::size_t>(rows * cols));
  absl::Status status;
  if (input->Below(2) == 0) {
    auto dst = ColMajor(result.data(), rows, cols);
    status = Mul(packed, rhs, params, context, &dst);
  } else {
    auto dst = RowMajor(result.data(), cols, rows);
    status = Mul(RowMajor(values, cols, depth), packed, params, context, &dst);
  }
  if (!status.ok()) Fail("a product is refused");
  if (weights == nullptr) return;
  std::vector<float> expected(static_cast<std::size_t>(rows * cols));
  auto reference = ColMajor(expected.data(), rows, cols);
  ReferenceGroupMul(*weights, rhs, params, &reference);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!Same(result[i], expected[i])) Fail(context->last_used_kernel());
  }
}

void MultiplyByAny(const PackedGroupWeights& packed,
                   const GroupWeights* weights, FuzzInput* input) {
  switch (input->Below(3)) {
    case 0:
      return Multiply<std::int8_t>(packed, weights, input);
    case 1:
      return Multiply<float>(packed, weights, input);
    default:
      return Multiply<BFloat16>(packed, weights, input);
  }
}

void PackAndMultiply(const GroupWeights& weights, FuzzInput* input) {
  const auto packed = PackGroupWeights(weights, AnyContext(input));
  if (!packed.ok()) return;
  MultiplyByAny(*packed, &weights, input);
  const absl::string_view image = packed->Serialize();
  AlignedBuffer copy;
  if (!AlignedBuffer::Allocate(image.size(), &copy)) return;
  std::memcpy(copy.data(), image.data(), image.size());
  const auto read = PackedGroupWeights::FromBytes(copy.data(), image.size());
  if (!read.ok() || read->rows() != packed->rows()) Fail("not read back");
}

// ## Images

void TryImage(FuzzInput input) {
  const VerifyChecksum verify =
      input.Below(2) == 0 ? VerifyChecksum::kNo : VerifyChecksum::kYes;
  const bool forges_header = input.Below(2) == 0;
  const std::size_t bytes = input.left();
  AlignedBuffer image;
  // Exactly as much as there is: what is read beyond is AddressSanitizer's.
  if (!AlignedBuffer::Allocate(bytes, &image)) return;
  if (bytes > 0) std::memcpy(image.data(), input.Rest(), bytes);
  if (forges_header && bytes >= kImageHeaderBytes) {
    MakeHeaderChecksumRight(static_cast<char*>(image.data()));
  }
  const auto packed =
      PackedGroupWeights::FromBytes(image.data(), bytes, verify);
  if (!packed.ok()) return;
  if (packed->Serialize().size() > bytes) Fail("larger than its bytes");
  MultiplyByAny(*packed, nullptr, &input);
}

// ## Descriptors

// Small, or with bits that no memory goes with.
std::ptrdiff_t AnySize(FuzzInput* input) {
  const std::uint64_t word = input->Word();
  const int shift = input->Below(64);
  return static_cast<std::ptrdiff_t>((word << 32 | input->Word()) >> shift);
}

// An array is missing: nothing may be read, however large the sizes are.
void TryHostileDescriptor(FuzzInput input) {
  GroupWeights weights;
  weights.rows = AnySize(&input);
  weights.depth = AnySize(&input);
  weights.bits = input.Below(3) == 0 ? 8 : input.Below(10);
  const std::int8_t table[16] = {};
  if (input.Below(2) == 0) weights.table = table;
  weights.group_size = AnySize(&input);
  weights.row_stride_bytes = AnySize(&input);
  weights.scale_stride = AnySize(&input);
  weights.scale_type = static_cast<Scalar>(input.Byte());
  const float scale = 1;
  if (input.Below(2) == 0) {
    weights.levels = &scale;
  } else {
    weights.scales = &scale;
  }
  Context* const context = AnyContext(&input);
  const auto packed = PackGroupWeights(weights, context);
  if (packed.ok() && packed->rows() > 0 && packed->depth() > 0) {
    Fail("packed without an array");
  }
}

void TryDescriptor(FuzzInput input) {
  GroupWeights weights;
  weights.rows = input.Below(70);
  weights.depth = input.Below(200);
  constexpr int kBits[] = {2, 4, 8};
  weights.bits = kBits[input.Below(3)];
  Bytes table(std::ptrdiff_t{1} << weights.bits, &input);
  if (weights.bits == 2 || (weights.bits == 4 && input.Below(2) == 0)) {
    weights.table = table.as<std::int8_t>();
  }
  weights.group_size = 16 * input.Below(6);
  const std::ptrdiff_t groups =
      weights.depth == 0 ? 0
      : weights.group_size == 0
          ? 1
          : (weights.depth + weights.group_size - 1) / weights.group_size;
  const std::ptrdiff_t row_bytes = weights.RowBytes();
  const int gap = input.Below(4);
  weights.row_stride_bytes = row_bytes + gap;
  weights.scale_stride = groups + gap;
  constexpr Scalar kTypes[] = {Scalar::kF32, Scalar::kBF16, Scalar::kF16};
  weights.scale_type = kTypes[input.Below(3)];
  const auto span = [&](std::ptrdiff_t width) {
    return weights.rows == 0 || width == 0
               ? 0
               : (weights.rows - 1) * (width + gap) + width;
  };
  Bytes levels(span(row_bytes), &input);
  Bytes scales(span(groups) * InfoOf(weights.scale_type).bits / 8, &input);
  Bytes zeros(span(groups), &input);
  const std::ptrdiff_t scale_bytes = InfoOf(weights.scale_type).bits / 8;
  scales.MakeFinite(scale_bytes - 1, scale_bytes, &input);
  weights.levels = levels.data();
  weights.scales = scales.data();
  if (input.Below(2) == 0) weights.zero_points = zeros.data();
  if (!weights.LevelsAreInt8() && input.Below(8) != 0) {
    for (std::ptrdiff_t i = 0; i < span(groups); ++i) zeros.data()[i] &= 15;
  }
  // Reversed but for the last element.
  std::vector<std::int32_t> order(static_cast<std::size_t>(weights.depth));
  std::iota(order.begin(), order.end(), 0);
  if (weights.depth > 0 && input.Below(3) == 0) {
    std::reverse(order.begin(), order.end() - 1);
    weights.depth_order = order.data();
  }
  PackAndMultiply(weights, &input);
}

// ## Imports

void TryImport(FuzzInput input) {
  const int format = input.Below(5);
  const std::ptrdiff_t rows = input.Below(40) - 1;
  const std::ptrdiff_t depth = 8 * input.Below(20);
  const std::ptrdiff_t group_size = 16 * (input.Below(5) - 1);
  const auto choice = static_cast<GptqZeroPoints>(input.Below(6));
  const std::ptrdiff_t some = std::max<std::ptrdiff_t>(rows, 0) * depth;
  absl::StatusOr<QuantizedGroups> groups;
  if (format < 2) {
    // As many bytes as most formats take, which may be too few.
    const std::ptrdiff_t bytes = some / 32 * 34 - (input.Below(8) == 0 ? 1 : 0);
    Bytes blocks(std::max<std::ptrdiff_t>(bytes, 0), &input);
    const auto type = static_cast<GgmlType>(input.Below(11));
    if (type == GgmlType::kQ4_0) blocks.MakeFinite(1, 18, &input);
    groups = ImportGgml(type, blocks.data(), blocks.bytes(), rows,
                        format == 0 ? depth : depth * 32);
  } else {
    const std::ptrdiff_t size = std::max<std::ptrdiff_t>(group_size, 1);
    const std::ptrdiff_t count = (depth + size - 1) / size;
    const std::ptrdiff_t whole = std::max<std::ptrdiff_t>(rows, 0) * count;
    Bytes levels(whole * size, &input);
    Bytes scales(whole * 4, &input);
    Bytes zeros(std::max<std::ptrdiff_t>(rows, 0) * (count + 8) * 4, &input);
    scales.MakeFinite(1, 2, &input);
    zeros.MakeFinite(1, 2, &input);
    if (format == 2) {
      constexpr Scalar kTypes[] = {Scalar::kF32, Scalar::kF16, Scalar::kU8};
      MatMulNBits arrays;
      arrays.bits = 1 << input.Below(4);
      arrays.rows = rows;
      arrays.depth = depth;
      arrays.block_size = group_size;
      arrays.b = levels.as<std::uint8_t>();
      arrays.scales = scales.data();
      arrays.scale_type = kTypes[input.Below(3)];
      arrays.zero_points = input.Below(2) == 0 ? nullptr : zeros.data();
      arrays.zero_point_type = kTypes[input.Below(3)];
      groups = ImportMatMulNBits(arrays);
    } else if (format == 3) {
      Bytes g_idx(depth * 4, &input);
      for (std::ptrdiff_t k = 0; k < depth && input.Below(8) != 0; ++k) {
        g_idx.as<std::int32_t>()[k] = static_cast<std::int32_t>(k % count);
      }
      groups =
          ImportGptq(levels.as<std::int32_t>(), scales.as<Float16>(),
                     zeros.as<std::int32_t>(), choice, rows, depth, group_size,
                     input.Below(2) == 0 ? nullptr : g_idx.as<std::int32_t>());
    } else {
      groups = ImportAwq(levels.as<std::int32_t>(), scales.as<Float16>(),
                         zeros.as<std::int32_t>(), rows, depth, group_size);
    }
  }
  if (groups.ok()) PackAndMultiply(groups->description(), &input);
}

void Run(FuzzInput input) {
  switch (input.Below(4)) {
    case 0:
      return TryImage(input);
    case 1:
      return TryHostileDescriptor(input);
    case 2:
      return TryDescriptor(input);
    default:
      return TryImport(input);
  }
}

}  // namespace
}  // namespace ruy_like

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ruy_like::Run(ruy_like::FuzzInput(data, size));
  return 0;
}
