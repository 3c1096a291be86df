// Back-end: the kernel tables, one function per line of paths.inc, and the
// kernels that several tables list.
//
// Defined by kernels/<name>.cc; called by the registry for all paths that were
// built, also those whose kernels this processor cannot run.
#ifndef RUY_LIKE_KERNELS_KERNEL_TABLES_H_
#define RUY_LIKE_KERNELS_KERNEL_TABLES_H_

#include "ruy_like/kernels/kernel.h"

namespace ruy_like::kernels {

#define RUY_LIKE_PATH(Enum, name, arch, features, flags) \
  KernelTable Enum##Kernels();
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH

// Static: per-ISA files must not share a symbol of it.
template <int kCount>
static constexpr KernelTable TableOf(const Kernel (&kernels)[kCount],
                                     PostOpFn* post_ops = nullptr,
                                     PackFn* quantize = nullptr) {
  return {kernels, kCount, post_ops, quantize};
}

// Kernels of one path that another path's table lists too.
KernelFn RunAvx512Vnni_S8U8_64x4x4;
KernelFn RunAvx512Vnni_S8U8_48x8x4;

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_KERNEL_TABLES_H_
