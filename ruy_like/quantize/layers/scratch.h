// Quantization toolkit, internal: scratch memory cut out of a Workspace, and
// copies in it of tensors in NHWC order, for operations whose vectors run along
// channels.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_SCRATCH_H_
#define RUY_LIKE_QUANTIZE_LAYERS_SCRATCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/quantize/byte_table.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/layer_kernels.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like::quantize_internal {

// Cuts a Workspace's memory into arrays. A first pass counts, with null memory;
// the second one takes.
class Carver final {
 public:
  explicit Carver(char* memory) : memory_(memory) {}

  // count * times elements, aligned to a cache line. Null in the first pass.
  template <typename T>
  T* Take(std::ptrdiff_t count, std::ptrdiff_t times = 1) {
    constexpr std::ptrdiff_t kLine = 64;
    std::ptrdiff_t bytes;
    const std::ptrdiff_t begin = used_;
    if (!CheckedMul<std::ptrdiff_t>(count, sizeof(T), &bytes) ||
        !CheckedMul(bytes, times, &bytes) ||
        !CheckedAdd(bytes, kLine - 1, &bytes) ||
        !CheckedAdd(used_, bytes - bytes % kLine, &used_)) {
      overflowed_ = true;
      return nullptr;
    }
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + begin);
  }

  // Calls place(&carver) twice, the second time with memory of the workspace,
  // or of `spare` if `workspace` is null.
  template <typename Place>
  static absl::Status Carve(Workspace* workspace, Workspace* spare,
                            const Place& place) {
    Carver counted(nullptr);
    place(&counted);
    if (counted.overflowed_) {
      return absl::OutOfRangeError("the size of the workspace overflows");
    }
    if (counted.used_ == 0) return absl::OkStatus();
    if (workspace == nullptr) workspace = spare;
    void* const memory =
        workspace->Reserve(static_cast<std::size_t>(counted.used_));
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no memory for a workspace of ", counted.used_, " bytes"));
    }
    Carver carver(static_cast<char*>(memory));
    place(&carver);
    return absl::OkStatus();
  }

 private:
  char* const memory_;
  std::ptrdiff_t used_ = 0;
  bool overflowed_ = false;
};

// Reorder with the element type, and transpose(from, rows, cols, to).
template <typename T, typename TransposeMatrix>
absl::Status ReorderElements(const T* from, const TensorShape& shape,
                             bool to_nhwc, Context* context,
                             const TransposeMatrix& transpose, T* to) {
  const std::ptrdiff_t pixels = shape.height * shape.width;
  const std::ptrdiff_t image = pixels * shape.channels;
  if (image == 0) return absl::OkStatus();
  const std::ptrdiff_t rows = to_nhwc ? shape.channels : pixels;
  const std::ptrdiff_t cols = to_nhwc ? pixels : shape.channels;
  constexpr std::ptrdiff_t kMaxBytes = 64 * 1024;
  const std::ptrdiff_t bytes = image * 2 * std::ptrdiff_t{sizeof(T)};
  return ForEachRange(shape.batch, /*grain=*/1, std::min(bytes, kMaxBytes),
                      context, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        for (std::ptrdiff_t i = first; i < last; ++i) {
                          transpose(from + i * image, rows, cols,
                                    to + i * image);
                        }
                      });
}

// Copies images from one order to the other: to NHWC or from it. `shape` is
// that of both, `bytes` those of an element, 1, 2 or 4.
inline absl::Status Reorder(const void* from, const TensorShape& shape,
                            std::ptrdiff_t bytes, bool to_nhwc,
                            Context* context, void* to) {
  const auto reorder = [&](auto element, const auto& transpose) {
    using T = decltype(element);
    return ReorderElements(static_cast<const T*>(from), shape, to_nhwc, context,
                           transpose, static_cast<T*>(to));
  };
  if (bytes == 1) {
    return reorder(std::uint8_t{},
                   LayerKernelsFor(TargetsFor(context)).transpose);
  }
  if (bytes == 2) {
    return reorder(std::uint16_t{}, TransposeTiles<std::uint16_t>);
  }
  return reorder(std::uint32_t{}, TransposeTiles<std::uint32_t>);
}

// to[i] = table[from[i]]; `to` may be `from`.
inline absl::Status LookUpAll(const ByteTable& table, const void* from,
                              std::ptrdiff_t count, Context* context,
                              void* to) {
  const Path paths = PermittedPaths(context);
  return ForEachRange(count, /*grain=*/64, /*bytes_per_element=*/2, context,
                      [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        internal::LookUpBytes(
                            table.bytes().data(),
                            static_cast<const std::uint8_t*>(from) + first,
                            last - first, paths,
                            static_cast<std::uint8_t*>(to) + first);
                      });
}

// The tensors of an operation whose loops take NHWC ones: themselves, or copies
// of kNchw ones in scratch memory. Inputs of 8 or 16 bits.
class NhwcTensors final {
 public:
  NhwcTensors(const Erased& input, const Erased& output)
      : input_(input),
        output_(output),
        source_(static_cast<const std::uint8_t*>(input.data)),
        result_(const_cast<void*>(output.data)) {}

  void Place(Carver* carver) {
    if (!IsCopied()) return;
    source_ = copy_ = carver->Take<std::uint8_t>(ElementCount(input_.shape),
                                                 BytesOf(input_.scalar, 1));
    result_ = carver->Take<std::uint8_t>(ElementCount(output_.shape),
                                         BytesOf(output_.scalar, 1));
  }
  absl::Status CopyInput(Context* context) const {
    if (!IsCopied()) return absl::OkStatus();
    return Reorder(input_.data, input_.shape, BytesOf(input_.scalar, 1),
                   /*to_nhwc=*/true, context, copy_);
  }
  // After Place. The source is filled by CopyInput.
  const std::uint8_t* source() const { return source_; }
  // A window over them.
  SlidingArgs Sliding(const Window& window) const {
    const TensorShape &in = input_.shape, &out = output_.shape;
    return {
        source_,
        input_.scalar == Scalar::kI8,
        output_.scalar == Scalar::kI8,
        in.height,
        in.width,
        out.height,
        out.width,
        out.channels,
        window,
        result_,
        input_.params.zero_point,
        {output_.params.zero_point, output_.params.qmin, output_.params.qmax}};
  }
  // kernel(args, first, last) for all rows of the result, whose bytes are then
  // looked up in `table`, if not null; the result then is the output.
  template <typename Args>
  absl::Status WriteRows(const Args& args,
                         void (*kernel)(const Args& args, std::ptrdiff_t first,
                                        std::ptrdiff_t last),
                         Context* context,
                         const ByteTable* table = nullptr) const {
    const TensorShape& out = output_.shape;
    const std::ptrdiff_t row = out.width * out.channels;
    if (ElementCount(out) == 0) return absl::OkStatus();
    const Path paths = PermittedPaths(context);
    RUY_LIKE_RETURN_IF_ERROR(ForEachRange(
        out.batch * out.height, /*grain=*/1, SlidingCost(args.window, row),
        context, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
          kernel(args, first, last);
          if (table == nullptr) return;
          auto* const bytes = static_cast<std::uint8_t*>(result_) + first * row;
          internal::LookUpBytes(table->bytes().data(), bytes,
                                (last - first) * row, paths, bytes);
        }));
    return CopyResult(context);
  }
  // The same of a result that is complete.
  absl::Status FinishResult(Context* context, const ByteTable* table) const {
    if (table != nullptr) {
      RUY_LIKE_RETURN_IF_ERROR(LookUpAll(
          *table, result_, ElementCount(output_.shape), context, result_));
    }
    return CopyResult(context);
  }

 private:
  bool IsCopied() const { return input_.shape.order == TensorOrder::kNchw; }
  absl::Status CopyResult(Context* context) const {
    if (!IsCopied()) return absl::OkStatus();
    return Reorder(result_, output_.shape, BytesOf(output_.scalar, 1),
                   /*to_nhwc=*/false, context, const_cast<void*>(output_.data));
  }

  const Erased& input_;
  const Erased output_;
  const std::uint8_t* source_;
  void* result_;
  std::uint8_t* copy_ = nullptr;
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_SCRATCH_H_
