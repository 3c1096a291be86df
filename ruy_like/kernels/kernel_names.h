// Back-end: joins lists of kernels into one table, and completes their names by
// path, tile and dot width.
//
// Included by tables_x86.h, whose kernels exist for two widths. All of it runs
// at compile time.
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

template <int kCount>
struct KernelNames {
  char text[kCount][kMaxKernelName];
};

constexpr char* AppendText(char* end, const char* text) {
  while (*text != 0) *end++ = *text++;
  return end;
}
constexpr char* AppendNumber(char* end, int number) {
  if (number >= 10) end = AppendNumber(end, number / 10);
  *end++ = static_cast<char>('0' + number % 10);
  return end;
}

// "<path>_<name>_<tile_rows>x<tile_cols>x<dot width>" of each kernel.
template <int kCount>
constexpr KernelNames<kCount> FullNames(const char* path,
                                        const Kernel (&kernels)[kCount]) {
  KernelNames<kCount> names = {};
  for (int i = 0; i < kCount; ++i) {
    const Kernel& kernel = kernels[i];
    char* end = AppendText(names.text[i], path);
    end = AppendText(AppendText(AppendText(end, "_"), kernel.name), "_");
    end = AppendText(AppendNumber(end, kernel.tile_rows), "x");
    end = AppendText(AppendNumber(end, kernel.tile_cols), "x");
    const int lhs = kernel.lhs.dot_width, rhs = kernel.rhs.dot_width;
    AppendNumber(end, lhs > rhs ? lhs : rhs);
  }
  return names;
}

template <int kCount>
constexpr KernelList<kCount> WithNames(KernelList<kCount> list,
                                       const KernelNames<kCount>& names) {
  for (int i = 0; i < kCount; ++i) list.kernels[i].name = names.text[i];
  return list;
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_KERNEL_NAMES_H_
