#include <cstdio>
#include <cstdlib>

#include "absl/status/status.h"
#include "lenient_mul.h"
#include "ruy/ruy.h"

namespace ruy::detail {
namespace {

// Prints the status to stderr and aborts.
[[noreturn]] void MulFailed(const absl::Status& status) {
  std::fprintf(stderr, "ruy::Mul: %s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace

void NullArgument(const char* name) {
  MulFailed(ruy_like::internal::NullArgument(name));
}

void MulErased(const ruy_like::MulCall& call, Path compiled_paths,
               Context* context) {
  ruy_like::Context* const ruy_like_context =
      get_ctx(context)->ContextForPaths(compiled_paths);
  absl::Status status = ruy_like::internal::MulErased(call, ruy_like_context);
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    status = LenientMul(call, ruy_like_context);
  }
  if (!status.ok()) MulFailed(status);
}

}  // namespace ruy::detail
