// Packs weights once, writes them to a file, maps it and multiplies.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iostream>

#include "ruy_like/ruy_like.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: packed_matrix_sample FILE\n";
    return 2;
  }
  const char* const file_name = argv[1];
  using ruy_like::Order;
  ruy_like::Context context;
  {
    const std::int8_t weights[] = {1, 2, 3, 4, 5, 6};  // 2x3, row-major
    ruy_like::Matrix<std::int8_t> lhs;
    MakeSimpleLayout(2, 3, Order::kRowMajor, lhs.mutable_layout());
    lhs.set_data(weights);
    ruy_like::PackOptions options;
    options.dst_order = Order::kColMajor;  // of the products to come
    auto packed = Pack(lhs, ruy_like::Side::kLhs, options, &context);
    if (!packed.ok()) {
      std::cerr << packed.status() << "\n";
      return 1;
    }
    std::ofstream(file_name, std::ios::binary) << packed->Serialize();
  }
  const int file = open(file_name, O_RDONLY);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) return 1;
  const std::size_t size = static_cast<std::size_t>(info.st_size);
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return 1;
  auto weights = ruy_like::PackedMatrix<std::int8_t>::FromBytes(mapped, size);
  if (!weights.ok()) {  // of another machine, say: pack the weights anew
    std::cerr << weights.status() << "\n";
    return 1;
  }

  const std::int8_t activations[] = {1, 0, -1};
  std::int32_t result[2];
  ruy_like::Matrix<std::int8_t> rhs;
  ruy_like::Matrix<std::int32_t> dst;
  MakeSimpleLayout(3, 1, Order::kColMajor, rhs.mutable_layout());
  MakeSimpleLayout(2, 1, Order::kColMajor, dst.mutable_layout());
  rhs.set_data(activations);
  dst.set_data(result);
  const ruy_like::MulParams<std::int32_t, std::int32_t> mul_params;
  const absl::Status status = Mul(*weights, rhs, mul_params, &context, &dst);
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::cout << dst;  // -2, -2
}
