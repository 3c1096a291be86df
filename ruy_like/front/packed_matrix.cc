// Tested in test/packed_matrix_test.cc.
#include "ruy_like/packed_matrix.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/packed/image_header.h"
#include "ruy_like/packed/packed_image.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/packed/packed_side.h"
#include "ruy_like/packed/value_range.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/run/parallel.h"

namespace ruy_like::internal {
namespace {

// True if a matrix of `scalar` that is packed for `pack_for` can meet one of
// these types.
bool IsFor(PackFor pack_for, Scalar scalar, ScalarSet other) {
  switch (pack_for) {
    case PackFor::kDefault:
      return true;
    case PackFor::kInt16Operand:
      return Is8Bit(scalar) && Contains(other, Scalar::kI16);
    case PackFor::kDoubleProduct:
      return IsFloat(scalar) && Contains(other, Scalar::kF64);
    case PackFor::kInt7Operand:
      return Is8Bit(scalar) && (other & k8BitScalars) != 0;
    case PackFor::kBFloat16Operand:
      return AsBFloat16(scalar) == Scalar::kBF16 &&
             Contains(other, Scalar::kBF16);
  }
  return false;
}

// The family of the products that a matrix is packed for, by the first line of
// the list that has them. False for options that do not go with its type.
bool FamilyFor(Scalar scalar, Side side, PackFor pack_for, Family* family) {
  for (const ProductTypes& types : kProducts) {
    const ScalarSet own = side == Side::kLhs ? types.lhs : types.rhs;
    const ScalarSet other = side == Side::kLhs ? types.rhs : types.lhs;
    if (!Contains(own, scalar) || !IsFor(pack_for, scalar, other)) continue;
    *family = types.family;
    return true;
  }
  return false;
}

// The other operand, as far as it is known. A float that may have any number of
// bits is kF32, which panels of all floats can meet.
Elements OtherElements(PackFor pack_for) {
  return {
      pack_for == PackFor::kBFloat16Operand ? Scalar::kBF16 : Scalar::kF32,
      pack_for == PackFor::kInt7Operand ? ValueRange::kInt7 : ValueRange::kFull,
      0};
}

// A matrix on its way to its panels.
struct Packing {
  Operand operand;
  PackedLayout layout;
  SideShape shape;

  void SetLayout(const KernelChoice& choice, Side side, Side kernel_side) {
    layout = LayoutFor(choice, side, kernel_side);
    shape = SideShape(*choice.kernel, kernel_side, operand.scalar,
                      operand.depth, operand.width);
  }
  std::size_t ImageBytes() const {
    return kImageHeaderBytes + shape.PackedBytes();
  }
};

// All but the data itself. The Context must not be locked.
absl::Status PlanPacking(const ErasedMatrix& matrix, Side side,
                         const PackOptions& options, Path permitted,
                         Packing* packing) {
  RUY_LIKE_RETURN_IF_ERROR(CheckEnum("side", side, Side::kRhs));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckEnum("dst_order", options.dst_order, Order::kRowMajor));
  RUY_LIKE_RETURN_IF_ERROR(
      ValidateOperand("matrix", matrix, /*needs_data=*/false));
  Family family;
  if (!FamilyFor(matrix.scalar, side, options.pack_for, &family)) {
    return Invalid("pack_for = ", static_cast<int>(options.pack_for),
                   " does not go with elements of type ",
                   ScalarName(matrix.scalar));
  }
  const bool swaps = options.dst_order == Order::kRowMajor;
  const Side kernel_side =
      (side == Side::kLhs) != swaps ? Side::kLhs : Side::kRhs;
  packing->operand = MakeOperand(matrix, side);
  const auto select = [&](Path paths) {
    return SelectKernelToPackFor(
        swaps ? InfoOf(family).swapped : family, paths, kernel_side,
        {matrix.scalar, matrix.value_range,
         std::int64_t{packing->operand.depth} * packing->operand.width},
        OtherElements(options.pack_for));
  };
  KernelChoice choice = select(permitted);
  if (!MayRun(choice.path)) choice = select(permitted & ~choice.path);
  packing->SetLayout(choice, side, kernel_side);
  return absl::OkStatus();
}

// Pieces that are packed together. A deep piece is one panel, which takes 16 to
// 64 bytes at each depth; where these lie far apart, each of these is a
// page of its own. Then as many pieces as take `kRunBytes` of a depth
// (4096x4096 packs 1.6 times as fast as with 64 bytes on Zen 4; 2048 bytes gain
// nothing), but each thread gets a part.
std::ptrdiff_t PiecesPerPart(const PackedSide& side, const ImagePieces& pieces,
                             std::ptrdiff_t threads) {
  constexpr std::ptrdiff_t kRunBytes = 1024;
  if (side.operand->depth_contiguous || pieces.count() <= 1) return 1;
  const std::ptrdiff_t run_bytes =
      BytesOf(side.operand->scalar, pieces.Start(1));
  return std::max<std::ptrdiff_t>(
      std::min(kRunBytes / run_bytes, pieces.count() / threads), 1);
}

// *checksum becomes that of the packed data.
absl::Status PackPieces(const PackedSide& side, ContextImpl* context,
                        std::uint64_t* checksum)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  const ImagePieces pieces(side);
  const std::ptrdiff_t step =
      PiecesPerPart(side, pieces, MaxThreads(*context, 0));
  std::atomic<std::uint64_t> sum{0};
  const auto pack_part = [&](int part) {
    // As while multiplying: floats become doubles without their denormals.
    const ScopedFloatState float_state(FloatState::kFlushDenormals);
    const std::ptrdiff_t first = part * step;
    const std::ptrdiff_t end = std::min(first + step, pieces.count());
    side.Pack(pieces.Start(first), pieces.Start(end));
    std::uint64_t sum_of_part = 0;
    for (std::ptrdiff_t i = first; i < end; ++i) {
      sum_of_part += pieces.Checksum(i);
    }
    sum.fetch_add(sum_of_part, std::memory_order_relaxed);
  };
  // Each packs 256 KiB or so: they are few enough for an int.
  const auto parts = static_cast<int>(CeilDiv(pieces.count(), step));
  if (parts > 0) {
    RUY_LIKE_RETURN_IF_ERROR(RunParallel(parts, pack_part, context));
  }
  *checksum = sum + pieces.SumsChecksum();
  return absl::OkStatus();
}

absl::Status CheckBuffer(const void* buffer, std::size_t bytes,
                         std::size_t needed) {
  RUY_LIKE_RETURN_IF_ERROR(CheckImageAlignment(buffer));
  if (bytes < needed) {
    return Invalid("the buffer has ", bytes, " bytes, the packed matrix ",
                   needed);
  }
  return absl::OkStatus();
}

PackedOperandOr PackLocked(const ErasedMatrix& matrix, Side side,
                           const PackOptions& options, ContextImpl* context,
                           void* buffer, std::size_t buffer_bytes)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  Packing packing;
  RUY_LIKE_RETURN_IF_ERROR(
      PlanPacking(matrix, side, options, context->permitted_paths, &packing));
  RUY_LIKE_RETURN_IF_ERROR(
      ValidateOperand("matrix", matrix, /*needs_data=*/true));
  if (packing.layout.format.range == ValueRange::kInt7 &&
      !HoldsInt7(packing.operand)) {
    ErasedMatrix full = matrix;
    full.value_range = ValueRange::kFull;
    return PackLocked(full, side, options, context, buffer, buffer_bytes);
  }
  auto result = std::make_shared<PackedOperand>();
  result->image_bytes = packing.ImageBytes();
  if (buffer != nullptr) {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckBuffer(buffer, buffer_bytes, result->image_bytes));
    if (SharesBytes(matrix, buffer, result->image_bytes)) {
      return Invalid("the buffer shares memory with the matrix to be packed");
    }
  } else {
    if (!AlignedBuffer::Allocate(result->image_bytes, &result->data.storage)) {
      return OutOfMemory("for a packed matrix of ", result->image_bytes,
                         " bytes");
    }
    buffer = result->data.storage.data();
  }
  result->image = buffer;
  result->layout = packing.layout;
  result->side = side;
  result->scalar = packing.operand.scalar;
  result->zero_point = packing.operand.zero_point;
  result->depth = packing.operand.depth;
  result->width = packing.operand.width;
  PackedSide packed;
  packed.Init(packing.operand, packing.shape);
  packed.PackTo(static_cast<char*>(buffer) + kImageHeaderBytes, &result->data);
  RUY_LIKE_RETURN_IF_ERROR(PackPieces(packed, context, &result->data_checksum));
  WriteImageHeader(*result, buffer);
  return result;
}

// The shape and the zero point of a matrix in an image.
absl::Status CheckContents(const ImageHeader& header, Layout* layout) {
  const bool is_lhs = header.side == Side::kLhs;
  MakeSimpleLayout(is_lhs ? header.width : header.depth,
                   is_lhs ? header.depth : header.width, Order::kColMajor,
                   layout);
  ErasedMatrix matrix = {};
  matrix.scalar = header.scalar;
  matrix.layout = *layout;
  matrix.zero_point = header.zero_point;
  if (Is8Bit(header.scalar)) {
    const int low = LowestOf8Bit(header.scalar);
    if (header.zero_point < low || header.zero_point > low + 255) {
      return absl::DataLossError("the header's zero point is out of range");
    }
  }
  return ValidateOperand("packed matrix", matrix, /*needs_data=*/false);
}

// The packing that `header` describes. An error if no kernel of this machine
// has its layout.
absl::Status FindPacking(const ImageHeader& header, Packing* packing) {
  KernelChoice choice = {nullptr, Path::kNone, false};
  const auto is_found = [&] {
    return choice.kernel != nullptr &&
           LayoutFor(choice, header.side, header.layout.kernel_side) ==
               header.layout;
  };
  if (HasKernelsOf(MachinePaths(), header.layout.path) &&
      MayRun(header.layout.path)) {
    // Files of earlier versions have the form of small operands for all.
    for (const std::int64_t count :
         {std::int64_t{header.depth} * header.width, std::int64_t{0}}) {
      for (const PackFor pack_for : {PackFor::kDefault, PackFor::kInt7Operand,
                                     PackFor::kBFloat16Operand}) {
        if (is_found()) break;
        choice = SelectKernelToPackFor(
            header.side == header.layout.kernel_side
                ? header.layout.family
                : InfoOf(header.layout.family).swapped,
            header.layout.path, header.layout.kernel_side,
            {header.scalar, header.layout.format.range, count},
            OtherElements(pack_for));
      }
    }
  }
  if (!is_found()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "packed for path ", PathName(header.layout.path), " (",
        LayoutName(header.layout), "), whose kernels this machine's paths, ",
        PathNames(MachinePaths()),
        ", do not have, or which the operating system does not let run"));
  }
  packing->operand = {};
  packing->operand.scalar = header.scalar;
  packing->operand.zero_point = header.zero_point;
  packing->operand.depth = header.depth;
  packing->operand.width = header.width;
  packing->SetLayout(choice, header.side, header.layout.kernel_side);
  return absl::OkStatus();
}

absl::Status CheckData(const PackedSide& side, std::uint64_t expected) {
  const ImagePieces pieces(side);
  std::uint64_t checksum = pieces.SumsChecksum();
  for (std::ptrdiff_t i = 0; i < pieces.count(); ++i) {
    checksum += pieces.Checksum(i);
  }
  if (checksum == expected) return absl::OkStatus();
  return absl::DataLossError("the packed matrix's data is damaged");
}

PackedOperandOr ReadImage(const void* data, std::size_t bytes, Scalar scalar,
                          VerifyChecksum verify) {
  auto result = std::make_shared<PackedOperand>();
  RUY_LIKE_RETURN_IF_ERROR(ReadImageHeader(data, bytes, result.get()));
  const ImageHeader& header = *result;
  if (header.scalar != scalar) {
    return Invalid("a packed matrix of ", ScalarName(header.scalar), ", not ",
                   ScalarName(scalar));
  }
  Layout layout;
  RUY_LIKE_RETURN_IF_ERROR(CheckContents(header, &layout));
  Packing packing;
  RUY_LIKE_RETURN_IF_ERROR(FindPacking(header, &packing));
  if (header.image_bytes != packing.ImageBytes() ||
      header.image_bytes > bytes) {
    return absl::DataLossError(absl::StrCat(
        "truncated: ", bytes, " bytes instead of ", packing.ImageBytes()));
  }
  const char* const panels = static_cast<const char*>(data) + kImageHeaderBytes;
  PackedSide side;
  side.Init(packing.operand, packing.shape);
  result->data.panels = panels;
  if (packing.shape.has_sums) {
    result->data.sums = reinterpret_cast<const std::int32_t*>(
        panels + ScratchArena::Footprint(packing.shape.panels_bytes));
  }
  side.Use(result->data);
  if (verify == VerifyChecksum::kYes) {
    RUY_LIKE_RETURN_IF_ERROR(CheckData(side, header.data_checksum));
  }
  result->layout = packing.layout;
  result->image = data;
  return result;
}

}  // namespace

void ErasePacked(const PackedMatrixBase& matrix, Scalar scalar,
                 ErasedMatrix* erased) {
  const PackedOperand* const operand = matrix.operand_.get();
  erased->data = operand == nullptr ? nullptr : operand->image;
  erased->scalar = scalar;
  erased->data_is_const = true;
  erased->cache_policy = CachePolicy::kNeverCache;
  erased->value_range = ValueRange::kFull;
  erased->zero_point = matrix.erased_zero_point();
  MakeSimpleLayout(matrix.rows(), matrix.cols(), Order::kColMajor,
                   &erased->layout);
  erased->packed = operand == nullptr ? NothingPacked() : operand;
}

absl::StatusOr<std::size_t> PackedBytesErased(const ErasedMatrix& matrix,
                                              Side side,
                                              const PackOptions& options,
                                              Context* context) {
  if (context == nullptr) return NullArgument("context");
  return CatchNoMemory([&]() -> absl::StatusOr<std::size_t> {
    Packing packing;
    RUY_LIKE_RETURN_IF_ERROR(PlanPacking(
        matrix, side, options, context->runtime_enabled_paths(), &packing));
    return packing.ImageBytes();
  });
}

PackedOperandOr PackErased(const ErasedMatrix& matrix, Side side,
                           const PackOptions& options, Context* context,
                           void* buffer, std::size_t buffer_bytes) {
  if (context == nullptr) return NullArgument("context");
  return CatchNoMemory([&]() -> PackedOperandOr {
    ContextImpl* impl = context->impl();
    RUY_LIKE_LOCK_FOR_CALL(impl);
    return PackLocked(matrix, side, options, impl, buffer, buffer_bytes);
  });
}

PackedOperandOr OperandFromBytes(const void* data, std::size_t bytes,
                                 Scalar scalar, VerifyChecksum verify) {
  return CatchNoMemory([&] { return ReadImage(data, bytes, scalar, verify); });
}

std::ptrdiff_t PackedMatrixBase::rows() const {
  if (operand_ == nullptr) return 0;
  return operand_->side == Side::kLhs ? operand_->width : operand_->depth;
}

std::ptrdiff_t PackedMatrixBase::cols() const {
  if (operand_ == nullptr) return 0;
  return operand_->side == Side::kLhs ? operand_->depth : operand_->width;
}

Side PackedMatrixBase::side() const {
  return operand_ == nullptr ? Side::kLhs : operand_->side;
}

Path PackedMatrixBase::path() const {
  return operand_ == nullptr ? Path::kNone : operand_->layout.path;
}

std::string PackedMatrixBase::layout_name() const {
  return operand_ == nullptr ? "" : LayoutName(operand_->layout);
}

Order PackedMatrixBase::dst_order() const {
  return operand_ == nullptr || operand_->side == operand_->layout.kernel_side
             ? Order::kColMajor
             : Order::kRowMajor;
}

absl::string_view PackedMatrixBase::Serialize() const {
  if (operand_ == nullptr) return {};
  return {static_cast<const char*>(operand_->image), operand_->image_bytes};
}

std::int32_t PackedMatrixBase::erased_zero_point() const {
  return operand_ == nullptr ? 0 : operand_->zero_point;
}

}  // namespace ruy_like::internal
