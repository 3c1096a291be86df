// Tested in test/quantize/layers/byte_table_test.cc.
#include "ruy_like/erased_call.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/post_ops.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/path.h"
#include "ruy_like/registry/registry.h"

namespace ruy_like::internal {

namespace {

struct Routine {
  Path permitted;
  kernels::PostOpFn* run;
  bool permutes_bytes;
};

// Kept, since finding it takes as long as looking up some hundred bytes.
const Routine& RoutineOf(Path permitted) {
  thread_local Routine last = {};
  if (last.run == nullptr || last.permitted != permitted) {
    const Path path = BestPath(permitted);
    last = {permitted, RoutinesOf(path).post_ops, PermutesBytes(path)};
  }
  return last;
}

}  // namespace

void LookUpBytes(const std::uint8_t* table, const std::uint8_t* from,
                 std::ptrdiff_t n, Path permitted, std::uint8_t* to) {
  const Routine& routine = RoutineOf(permitted);
  kernels::EpilogueArgs epilogue;  // a table needs no more of it
  epilogue.dst = to;
  epilogue.dst_row_stride = 1;
  epilogue.dst_col_stride = n;
  kernels::PostOpArgs args;
  args.rows = n;
  args.cols = 1;
  args.tile = from;
  args.tile_scalar = Scalar::kI32;
  args.epilogue = &epilogue;
  args.terms.table = table;
  args.permutes_bytes = routine.permutes_bytes;
  routine.run(&args);
}

}  // namespace ruy_like::internal
