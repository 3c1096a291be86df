// libFuzzer target: any bytes as the image of a packed matrix, then a product
// with it if it is one.
//
// The first bytes choose how: the element type, whether the checksum of the
// data is verified, and whether the checksum of the header is made right first,
// so that the fuzzer gets past it (the header's layout is packed_image.cc's).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "ruy_like/base/allocator.h"
#include "ruy_like/float8.h"
#include "ruy_like/packed/packed_image.h"
#include "ruy_like/packed_matrix.h"
#include "test/fuzz/fuzz_input.h"
#include "test/fuzz/fuzz_support.h"
#include "test/support/guarded_buffer.h"

namespace ruy_like {
namespace {

// Any values in dst are right: the panels are the fuzzer's. What counts is that
// nothing but dst is written and nothing beyond the operands is read.
template <typename T, typename Accum, typename Other>
void Multiply(const PackedMatrix<T>& packed, Context* context) {
  constexpr std::ptrdiff_t kOther = 5;
  const bool is_lhs = packed.side() == Side::kLhs;
  const std::ptrdiff_t rows = is_lhs ? packed.rows() : kOther;
  const std::ptrdiff_t depth = is_lhs ? packed.cols() : packed.rows();
  const std::ptrdiff_t cols = is_lhs ? kOther : packed.cols();
  if (!IsSmall(depth, kOther) || !IsSmall(rows, cols)) return;
  GuardedArray<Other> other_data(static_cast<std::size_t>(depth * kOther));
  GuardedArray<Accum> dst_data(static_cast<std::size_t>(rows * cols));
  const auto other = is_lhs ? ColMajor(other_data.data(), depth, cols)
                            : RowMajor(other_data.data(), rows, depth);
  auto dst = packed.dst_order() == Order::kColMajor
                 ? ColMajor(dst_data.data(), rows, cols)
                 : RowMajor(dst_data.data(), rows, cols);
  const MulParams<Accum, Accum> params;
  const absl::Status status = is_lhs
                                  ? Mul(packed, other, params, context, &dst)
                                  : Mul(other, packed, params, context, &dst);
  // Other types, or a path that is not permitted, may be refused.
  if (!status.ok() && status.code() != absl::StatusCode::kInvalidArgument &&
      status.code() != absl::StatusCode::kFailedPrecondition) {
    std::abort();
  }
}

template <typename T, typename Accum, typename Other = T>
void Try(const AlignedBuffer& image, std::size_t bytes, VerifyChecksum verify) {
  static Context* const context = new Context;
  const auto packed = PackedMatrix<T>::FromBytes(image.data(), bytes, verify);
  if (!packed.ok()) return;
  if (packed->Serialize().size() > bytes) std::abort();
  Multiply<T, Accum, Other>(*packed, context);
}

void Run(FuzzInput input) {
  const int type = input.Below(8);
  const VerifyChecksum verify =
      input.Below(2) == 0 ? VerifyChecksum::kNo : VerifyChecksum::kYes;
  const bool forges_header = input.Below(2) == 0;
  AlignedBuffer image;
  // Exactly as much as there is: what is read beyond is AddressSanitizer's.
  if (!AlignedBuffer::Allocate(input.left(), &image)) return;
  const std::size_t bytes = input.left();
  if (bytes > 0) std::memcpy(image.data(), input.Rest(), bytes);
  if (forges_header && bytes >= kImageHeaderBytes) {
    MakeHeaderChecksumRight(static_cast<char*>(image.data()));
  }
  switch (type) {
    case 0:
      return Try<std::int8_t, std::int32_t>(image, bytes, verify);
    case 1:
      return Try<std::uint8_t, std::int32_t>(image, bytes, verify);
    case 2: {
      // No product of two int16: the reading alone.
      const auto packed =
          PackedMatrix<std::int16_t>::FromBytes(image.data(), bytes, verify);
      if (packed.ok() && packed->Serialize().size() > bytes) std::abort();
      return;
    }
    case 3:
      return Try<float, float>(image, bytes, verify);
    case 4:
      return Try<double, double>(image, bytes, verify);
    case 5:
      return Try<BFloat16, float>(image, bytes, verify);
    case 7:
      return Try<Float8E4M3, float, BFloat16>(image, bytes, verify);
    default:
      return Try<Float16, float>(image, bytes, verify);
  }
}

}  // namespace
}  // namespace ruy_like

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ruy_like::Run(ruy_like::FuzzInput(data, size));
  return 0;
}
