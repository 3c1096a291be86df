// Back-end: joins lists of kernels into one table, and completes their names by
// path, tile and dot width.
//
// Included by the per-ISA files. All of it runs at compile time.
#ifndef RUY_LIKE_KERNELS_KERNEL_NAMES_H_
#define RUY_LIKE_KERNELS_KERNEL_NAMES_H_

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/kernel_tables.h"

namespace ruy_like::kernels {
namespace {

template <int kCount>
struct KernelList {
  Kernel kernels[kCount];
};

template <int... kCounts>
constexpr auto Join(const Kernel (&... lists)[kCounts]) {
  KernelList<(kCounts + ...)> joined = {};
  Kernel* next = joined.kernels;
  const auto append = [&next](const Kernel* list, int count) {
    for (int i = 0; i < count; ++i) *next++ = list[i];
  };
  (append(lists, kCounts), ...);
  return joined;
}

constexpr int kMaxKernelName = 48;  // with the terminating zero

constexpr char* AppendText(char* end, const char* text) {
  while (*text != 0) *end++ = *text++;
  return end;
}
constexpr char* AppendNumber(char* end, int number) {
  if (number >= 10) end = AppendNumber(end, number / 10);
  *end++ = static_cast<char>('0' + number % 10);
  return end;
}

// The kernels of a path: those of some lists. Their names become
// "<path>_<name>_<tile_rows>x<tile_cols>x<dot width>".
template <int kCount>
struct NamedKernels : KernelList<kCount> {
  char names[kCount][kMaxKernelName] = {};

  template <int... kCounts>
  constexpr explicit NamedKernels(const char* path,
                                  const Kernel (&... lists)[kCounts])
      : KernelList<kCount>(Join(lists...)) {
    for (int i = 0; i < kCount; ++i) {
      Kernel& kernel = this->kernels[i];
      char* end = AppendText(names[i], path);
      end = AppendText(AppendText(AppendText(end, "_"), kernel.name), "_");
      end = AppendText(AppendNumber(end, kernel.tile_rows), "x");
      end = AppendText(AppendNumber(end, kernel.tile_cols), "x");
      const int lhs = kernel.lhs.dot_width, rhs = kernel.rhs.dot_width;
      AppendNumber(end, lhs > rhs ? lhs : rhs);
      kernel.name = names[i];
    }
  }
};
template <int... kCounts>
NamedKernels(const char* path, const Kernel (&... lists)[kCounts])
    -> NamedKernels<(kCounts + ...)>;

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_KERNEL_NAMES_H_
