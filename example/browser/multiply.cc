// Multiplies square matrices and prints how fast, on the portable path and
// on the best: in a browser (index.html) or under Node.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ruy_like/ruy_like.h"
#include "ruy_like/thread_pool.h"

namespace {

double Seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Returns whether dst is right where it was looked at.
template <typename Element, typename Dst>
bool Run(const char* type, int size, ruy_like::Path path, int threads) {
  using namespace ruy_like;
  const std::size_t count = static_cast<std::size_t>(size) * size;
  std::vector<Element> lhs_data(count), rhs_data(count);
  std::vector<Dst> dst_data(count);
  for (std::size_t i = 0; i < count; ++i) {
    lhs_data[i] = static_cast<Element>(static_cast<int>(i * 7 % 255) - 127);
    rhs_data[i] = static_cast<Element>(static_cast<int>(i * 5 % 253) - 126);
  }
  const auto lhs = RowMajor(lhs_data.data(), size, size);
  const auto rhs = ColMajor(rhs_data.data(), size, size);
  auto dst = ColMajor(dst_data.data(), size, size);
  Context context;
  context.set_max_num_threads(threads);
  context.set_runtime_enabled_paths(path);
  double best = 1e9;
  const double begin = Seconds();
  for (int i = 0; i < 3 || Seconds() < begin + 0.3; ++i) {
    const double start = Seconds();
    const absl::Status status =
        Mul(lhs, rhs, MulParams<Dst, Dst>(), &context, &dst);
    if (!status.ok()) {
      std::printf("%s\n", status.ToString().c_str());
      return false;
    }
    if (Seconds() - start < best) best = Seconds() - start;
  }
  std::printf("%-7s %4d^3 %-8s %d thread%s %7.1f GOP/s\n", type, size,
              PathName(context.last_used_path()),
              context.last_used_num_threads(),
              context.last_used_num_threads() == 1 ? " " : "s",
              2e-9 * size * size * size / best);
  // All values are integers, whose sums floats hold exactly at these sizes.
  std::int64_t sum = 0;
  const std::size_t last = count - static_cast<std::size_t>(size);
  for (std::size_t k = 0; k < static_cast<std::size_t>(size); ++k) {
    sum += static_cast<std::int64_t>(lhs_data[last + k]) *
           static_cast<std::int64_t>(rhs_data[last + k]);
  }
  return static_cast<std::int64_t>(dst_data[count - 1]) == sum;
}

}  // namespace

int main() {
  const int threads = ruy_like::DefaultThreadCount();
  for (const ruy_like::Path path :
       {ruy_like::Path::kPortable, ruy_like::kAllPaths}) {
    for (const int size : {256, 512, 1024}) {
      if (!Run<std::int8_t, std::int32_t>("int8", size, path, threads) ||
          !Run<float, float>("float", size, path, threads)) {
        std::printf("wrong\n");
        return 1;
      }
    }
  }
  std::printf("done\n");
}
