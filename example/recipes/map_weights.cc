// Multiplies by the file that write_weights.cc wrote, without reading it into
// memory of its own: processes that map it share its pages.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <iostream>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  const int file = open("weights.packed", O_RDONLY);
  struct stat info = {};
  if (file < 0 || fstat(file, &info) != 0) return 1;
  const std::size_t size = info.st_size;
  void* const bytes = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) return 1;
  // kYes reads all of it once, kNo the header alone.
  const auto weights =
      rl::PackedMatrix<float>::FromBytes(bytes, size, rl::VerifyChecksum::kYes);
  if (!weights.ok()) {  // damaged, or for a path that this machine lacks
    std::cerr << weights.status() << "\n";
    return 1;
  }
  const float x[] = {1, 2, 4};
  float y[2];
  auto dst = rl::RowMajor(y, 1, 2);
  rl::Context context;
  const absl::Status status =
      Mul(rl::RowMajor(x, 1, 3), *weights, rl::MulParams<float, float>(),
          &context, &dst);
  if (!status.ok()) return 1;
  std::cout << dst;
}
