// Tested in test/group_weights_test.cc.
#include <cmath>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/groups/choose_group_kernel.h"
#include "ruy_like/groups/group_image.h"
#include "ruy_like/groups/group_product.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/path.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/run/parallel.h"

namespace ruy_like::internal {
namespace {

absl::Status ValidateShapes(const GroupMulCall& call) {
  const Layout& activations = call.activations.layout;
  const Layout& dst = call.dst.layout;
  const bool is_lhs = call.weights_are_lhs;
  const std::ptrdiff_t depth = is_lhs ? activations.rows() : activations.cols();
  const std::ptrdiff_t cols = is_lhs ? activations.cols() : activations.rows();
  if (depth != call.weights->depth) {
    return Invalid("the weights have depth ", call.weights->depth,
                   ", the activations ", depth);
  }
  const std::ptrdiff_t rows = is_lhs ? dst.rows() : dst.cols();
  const std::ptrdiff_t dst_cols = is_lhs ? dst.cols() : dst.rows();
  if (rows != call.weights->rows || cols != dst_cols) {
    return Invalid("dst is ", dst.rows(), "x", dst.cols(),
                   "; the weights have ", call.weights->rows,
                   " rows, the activations are ", activations.rows(), "x",
                   activations.cols());
  }
  return absl::OkStatus();
}

absl::Status ValidateParams(const GroupMulCall& call) {
  const GroupMulParams& params = call.params;
  if (params.channel_dimension != ChannelDimension::kRow &&
      params.channel_dimension != ChannelDimension::kCol) {
    return Invalid("unknown channel_dimension ",
                   static_cast<int>(params.channel_dimension));
  }
  if (params.quantize != ActivationScales::kPerColumn &&
      params.quantize != ActivationScales::kPerGroup) {
    return Invalid("unknown quantize ", static_cast<int>(params.quantize));
  }
  if (std::isnan(params.clamp_min) || std::isnan(params.clamp_max) ||
      params.clamp_min > params.clamp_max) {
    return Invalid("clamp_min = ", params.clamp_min,
                   " and clamp_max = ", params.clamp_max, " are no bounds");
  }
  if (call.activations.scalar != Scalar::kI8 &&
      (params.activation_scales != nullptr ||
       params.activation_zero_points != nullptr)) {
    return Invalid(
        "activation_scales and activation_zero_points are for int8 "
        "activations");
  }
  if (call.max_num_threads < 0) {
    return Invalid("max_num_threads is negative: ", call.max_num_threads);
  }
  return absl::OkStatus();
}

absl::Status ValidateOverlap(const GroupMulCall& call) {
  const GroupMulParams& params = call.params;
  const Layout& dst = call.dst.layout;
  const std::ptrdiff_t cols = call.weights_are_lhs ? dst.cols() : dst.rows();
  const std::ptrdiff_t channels =
      params.channel_dimension == ChannelDimension::kRow ? dst.rows()
                                                         : dst.cols();
  const struct {
    const char* name;
    const void* data;
    std::ptrdiff_t bytes;
  } arrays[] = {
      {"the weights", call.weights->image, call.weights->image_bytes},
      {"bias", params.bias,
       channels * static_cast<std::ptrdiff_t>(sizeof(float))},
      {"activation_scales", params.activation_scales,
       cols * static_cast<std::ptrdiff_t>(sizeof(float))},
      {"activation_zero_points", params.activation_zero_points, cols},
  };
  for (const auto& array : arrays) {
    if (array.data != nullptr &&
        SharesBytes(call.dst, array.data, array.bytes)) {
      return Invalid("dst shares memory with ", array.name);
    }
  }
  if (call.weights->depth != 0 && SharesElements(call.dst, call.activations)) {
    return Invalid("dst shares memory with the activations");
  }
  return absl::OkStatus();
}

absl::Status ValidateGroupMul(const GroupMulCall& call) {
  const char* const name = call.weights_are_lhs ? "rhs" : "lhs";
  RUY_LIKE_RETURN_IF_ERROR(
      ValidateOperand(name, call.activations, /*needs_data=*/true));
  if (call.activations.zero_point != 0 ||
      !call.activations.zero_point_is_integer) {
    return Invalid(name, " has a zero point: use activation_zero_points");
  }
  RUY_LIKE_RETURN_IF_ERROR(
      ValidateOperand("dst", call.dst, /*needs_data=*/true));
  if (call.dst.data_is_const) {
    return Invalid("dst was given a pointer to const data");
  }
  RUY_LIKE_RETURN_IF_ERROR(ValidateShapes(call));
  RUY_LIKE_RETURN_IF_ERROR(ValidateParams(call));
  return IsEmpty(call.dst.layout) ? absl::OkStatus() : ValidateOverlap(call);
}

struct Work {
  BlockScaledProduct* product;
  void (BlockScaledProduct::*part)(int thread);
};

void DoWork(void* work, int thread) {
  const Work& part = *static_cast<const Work*>(work);
  (part.product->*part.part)(thread);
}

absl::Status RunLocked(const GroupMulCall& call, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  const Layout& dst = call.dst.layout;
  Path permitted = context->permitted_paths;
  const GroupKernelChoice choice = ChooseGroupKernelThatMayRun(
      call.weights->bits, call.weights_are_lhs ? dst.cols() : dst.rows(),
      &MayRun, &permitted);
  context->permitted_paths = permitted;
  BlockScaledProduct product(call, *choice.kernel);
  int threads = MaxThreads(*context, call.max_num_threads);
  if (threads > 1 && context->num_threads_strategy !=
                         NumThreadsStrategy::kForceMaxNumThreads) {
    threads = product.WorthThreads(threads);
  }
  const std::size_t bytes = product.Cut(threads);
  if (!context->arena.Reserve(bytes) || !product.Take(&context->arena)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for the ", bytes, " bytes that a product with ",
        call.weights->rows, "x", call.weights->depth, " group weights takes"));
  }
  int used = 1;
  for (const auto part :
       {&BlockScaledProduct::PackActivations, &BlockScaledProduct::Multiply}) {
    Work work = {&product, part};
    RUY_LIKE_RETURN_IF_ERROR(
        RunParallel(threads, &DoWork, &work, context, &used));
  }
  context->last_path = choice.path;
  context->last_kernel = choice.kernel->name;
  context->last_num_threads = used;
  return absl::OkStatus();
}

absl::Status ValidateAndRun(GroupMulCall call, ContextImpl* context) {
  static const GroupImage* const kEmpty = new GroupImage;
  if (call.weights == nullptr) call.weights = kEmpty;
  absl::Status status = ValidateGroupMul(call);
  if (!status.ok() || IsEmpty(call.dst.layout)) return status;
  if (!LockForCall(context)) return DeadlockError();
  MutexLock lock(&context->mutex, std::adopt_lock);
  return RunLocked(call, context);
}

}  // namespace

absl::Status GroupMulErased(const GroupMulCall& call, Context* context) {
  return CatchNoMemory([&] { return ValidateAndRun(call, context->impl()); });
}

}  // namespace ruy_like::internal
