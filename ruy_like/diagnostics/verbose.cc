#include "ruy_like/diagnostics/verbose.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/env.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/os/process.h"
#include "ruy_like/packed/group_image.h"
#include "ruy_like/packed/packed_side.h"
#include "ruy_like/plan/choose_plan.h"

namespace ruy_like {
namespace {

using kernels::EpilogueArgs;

// A forked child records and prints nothing: the parent prints these numbers,
// and the mutex may be held by a thread that the child does not have.
struct ProcessSummary {
  long process = os::ProcessId();
  CallSummary calls;
};

void PrintSummary();

// Never destroyed: products may run, and the process exit, in any order.
ProcessSummary* SummaryOfThisProcess() {
  static ProcessSummary* const summary = [] {
    auto* const made = new (std::nothrow) ProcessSummary;
    if (made != nullptr) {
      std::atexit(PrintSummary);
      g_packing_is_timed = true;
    }
    return made;
  }();
  return summary != nullptr && summary->process == os::ProcessId() ? summary
                                                                   : nullptr;
}

void PrintSummary() {
  ProcessSummary* const summary = SummaryOfThisProcess();
  if (summary == nullptr) return;
  const ScopedFloatState float_state(FloatState::kDefault);
  try {
    const std::string lines = summary->calls.Lines();
    std::fwrite(lines.data(), 1, lines.size(), stderr);
  } catch (const std::bad_alloc&) {
  }
}

VerboseLevel LevelOfThisProcess() {
  std::string warning;
  const VerboseLevel level =
      ParseVerboseLevel(GetEnv(EnvVar::kVerbose), &warning);
  if (!warning.empty()) {
    std::fprintf(stderr, "ruy_like: RUY_LIKE_VERBOSE: %s\n", warning.c_str());
  }
  if (level == VerboseLevel::kSummary) SummaryOfThisProcess();
  return level;
}

const char* SourceName(SideSource source) {
  switch (source) {
    case SideSource::kInPlace:
      return "in_place";
    case SideSource::kPackedByBlock:
    case SideSource::kPackedOnce:
      return "packed";
    case SideSource::kKept:
      return "packed_and_kept";
    case SideSource::kCached:
      return "cached";
    case SideSource::kPrepacked:
      return "prepacked";
  }
  return "?";
}

// A field that may hold commas or quotes.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

const char* OrderName(bool row_major) { return row_major ? "row" : "col"; }

// A packed operand's own order is not kept.
const char* OrderName(const Operand& operand, Side side) {
  if (operand.packed != nullptr) return "packed";
  return OrderName(operand.depth_contiguous == (side == Side::kLhs));
}

// "int8"; "int8:int7" where a kernel counts on that; "int8:not_int7" where the
// caller promised it and it is not so; "uint4:groups_of_32" with group scales.
std::string TypeName(const Operand& operand,
                     const kernels::PanelFormat& format) {
  if (operand.packed != nullptr &&
      operand.packed->layout.format.code_bits != 0) {
    const GroupShape& shape = GroupImageOf(*operand.packed).group_shape;
    return absl::StrCat(shape.by_table ? (shape.bits == 2 ? "table2" : "table4")
                        : shape.bits == 4 ? "uint4"
                                          : "int8",
                        ":groups_of_",
                        shape.group_size == 0 ? shape.depth : shape.group_size);
  }
  return absl::StrCat(ScalarName(operand.scalar),
                      operand.broke_promise               ? ":not_int7"
                      : format.range == ValueRange::kInt7 ? ":int7"
                                                          : "");
}

const char* ChannelsName(const EpilogueArgs& epilogue) {
  return epilogue.channels_are_rows ? "per_row" : "per_col";
}

const char* BiasName(const EpilogueArgs& epilogue) {
  return epilogue.bias != nullptr ? ChannelsName(epilogue) : "none";
}

const char* MultiplierName(const TrMulParams& params) {
  if (params.scaled()) {
    const kernels::ScaleArgs& scales = params.scales;
    return scales.lhs_per_row
               ? (scales.rhs_per_col ? "scales_per_row_and_col"
                                     : "scales_per_row")
               : (scales.rhs_per_col ? "scales_per_col" : "scales");
  }
  const EpilogueArgs& epilogue = params.epilogue;
  if (epilogue.fixedpoint == nullptr) return "none";
  if (epilogue.rounds_twice) {
    return !epilogue.per_channel        ? "per_tensor_twice"
           : epilogue.channels_are_rows ? "per_row_twice"
                                        : "per_col_twice";
  }
  return epilogue.per_channel ? ChannelsName(epilogue) : "per_tensor";
}

// As the caller of Mul sees it.
TrMulParams Unswapped(const TrMulParams& params, bool swapped) {
  TrMulParams result = params;
  if (swapped) SwapSides(&result);
  return result;
}

// In doubles: the product of three sizes may overflow.
double Ops(const TrMulParams& params) {
  return 2.0 * static_cast<double>(params.rows()) *
         static_cast<double>(params.cols()) *
         static_cast<double>(params.depth());
}

// The columns from "path" to "cols", of a call as the caller sees it.
std::string ShapeFields(const TrMulParams& call, const KernelChoice& choice) {
  const Operand& lhs = call.side.lhs;
  const Operand& rhs = call.side.rhs;
  const kernels::PanelFormat& lhs_format =
      FormatOf(*choice.kernel, choice.swap_sides ? Side::kRhs : Side::kLhs);
  const kernels::PanelFormat& rhs_format =
      FormatOf(*choice.kernel, choice.swap_sides ? Side::kLhs : Side::kRhs);
  const std::string types =
      absl::StrCat(TypeName(lhs, lhs_format), ",", TypeName(rhs, rhs_format),
                   ",", ScalarName(call.epilogue.dst_scalar));
  return absl::StrCat(PathName(choice.path), ",", choice.kernel->name, ",",
                      types, ",", OrderName(lhs, Side::kLhs), ",",
                      OrderName(rhs, Side::kRhs), ",",
                      OrderName(call.epilogue.dst_row_stride != 1), ",",
                      call.rows(), ",", call.depth(), ",", call.cols());
}

std::string DispatchLine(Path path, const char* kernel,
                         absl::string_view reason) {
  return absl::StrCat("ruy_like_not_taken,", PathName(path), ",", kernel, ",",
                      Quoted(reason), "\n");
}

}  // namespace

VerboseLevel g_verbose_level = LevelOfThisProcess();

VerboseLevel ParseVerboseLevel(absl::string_view value, std::string* warning) {
  warning->clear();
  if (value.empty() || value == "0") return VerboseLevel::kOff;
  if (value == "1") return VerboseLevel::kCalls;
  if (value == "dispatch") return VerboseLevel::kDispatch;
  if (value == "summary") return VerboseLevel::kSummary;
  *warning = absl::StrCat("'", value, "' is none of 0, 1, dispatch, summary");
  return VerboseLevel::kOff;
}

const char kVerboseHeader[] =
    "ruy_like_mul,path,kernel,lhs,rhs,dst,lhs_order,rhs_order,dst_order,"
    "rows,depth,cols,lhs_zero_point,rhs_zero_point,dst_zero_point,bias,"
    "multiplier,beta,threads,row_blocks,col_blocks,depth_blocks,lhs_source,"
    "rhs_source,microseconds,gops\n";

const char kSummaryHeader[] =
    "ruy_like_summary,calls,milliseconds,packing_milliseconds,gops,path,kernel,"
    "lhs,rhs,dst,lhs_order,rhs_order,dst_order,rows,depth,cols\n";

std::string CallLine(const TrMulParams& params, const Plan& plan,
                     std::chrono::nanoseconds time) {
  const bool swapped = plan.choice.swap_sides;
  const TrMulParams call = Unswapped(params, swapped);
  const EpilogueArgs& epilogue = call.epilogue;
  SidePair<SideSource> source = {plan.side.lhs.source, plan.side.rhs.source};
  std::ptrdiff_t row_blocks = plan.map.row_blocks;
  std::ptrdiff_t col_blocks = plan.map.col_blocks;
  for (const Side side : kSides) {
    // Weights that are widened for the kernel.
    if (params.side[side].packed != nullptr) {
      source[side] = SideSource::kPrepacked;
    }
  }
  if (swapped) {
    std::swap(source.lhs, source.rhs);
    std::swap(row_blocks, col_blocks);
  }
  const double nanoseconds = static_cast<double>(time.count());
  char timing[64];
  std::snprintf(timing, sizeof(timing), "%.3f,%.3f", nanoseconds * 1e-3,
                nanoseconds > 0 ? Ops(call) / nanoseconds : 0.0);
  // In the order of kVerboseHeader.
  const std::string parameters =
      absl::StrCat(call.side.lhs.zero_point, ",", call.side.rhs.zero_point, ",",
                   epilogue.dst_zero_point, ",", BiasName(epilogue), ",",
                   MultiplierName(call), ",",
                   call.post_op_needs != 0 ? call.post_ops.beta : 0);
  const std::string work =
      absl::StrCat(plan.threads, ",", row_blocks, ",", col_blocks, ",",
                   CeilDiv(plan.padded_depth, plan.map.depth_block), ",",
                   SourceName(source.lhs), ",", SourceName(source.rhs));
  return absl::StrCat("ruy_like_mul,", ShapeFields(call, plan.choice), ",",
                      parameters, ",", work, ",", timing, "\n");
}

std::string DispatchLines(const TrMulParams& params, const Plan& plan,
                          Path permitted) {
  const TrMulParams call = Unswapped(params, plan.choice.swap_sides);
  std::string lines;
  for (const Path path : PathsBestFirst(PathsOfThisArchitecture())) {
    if (path <= plan.choice.path) break;
    std::string obstacle = PathObstacle(path);
    if (obstacle.empty() && (permitted & path) == Path::kNone) {
      obstacle = "the Context does not permit it";
    }
    if (!obstacle.empty()) {
      absl::StrAppend(&lines, DispatchLine(path, "", obstacle));
    }
  }
  for (const Rejection& rejection : ExplainChoice(call, permitted)) {
    const char* const kernel =
        rejection.kernel == nullptr ? "" : rejection.kernel->name;
    absl::StrAppend(&lines,
                    DispatchLine(rejection.path, kernel, rejection.reason));
  }
  return lines;
}

std::string AdviceLines(const SidePair<PerformanceAdvisory>& advice,
                        bool swapped) {
  static constexpr struct {
    PerformanceAdvisory advisory;
    const char* text;
  } kTexts[] = {
      {PerformanceAdvisory::kRepeatedPacking,
       "packed in every call, though its values stay: cache or pack it once"},
      {PerformanceAdvisory::kStrideOf4KiB,
       "its stride is a multiple of 4096 bytes: make it 64 bytes longer"},
      {PerformanceAdvisory::kBrokenPromise,
       "promised as int7, which its values are not"},
      {PerformanceAdvisory::kUnaligned,
       "read where it lies: begin and go on at multiples of 64 bytes"}};
  std::string lines;
  for (const Side side : kSides) {
    for (const auto& entry : kTexts) {
      if ((advice[side] & entry.advisory) == PerformanceAdvisory::kNone) {
        continue;
      }
      const bool is_lhs = (side == Side::kLhs) != swapped;
      absl::StrAppend(&lines, "ruy_like_advice,", is_lhs ? "lhs," : "rhs,",
                      Quoted(entry.text), "\n");
    }
  }
  return lines;
}

void PrintAdvice(const SidePair<PerformanceAdvisory>& advice, bool swapped) {
  try {
    const std::string lines = AdviceLines(advice, swapped);
    std::fwrite(lines.data(), 1, lines.size(), stderr);
  } catch (const std::bad_alloc&) {
  }
}

void CallSummary::Add(const TrMulParams& params, const Plan& plan,
                      std::chrono::nanoseconds time,
                      std::chrono::nanoseconds packing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Totals* totals = &others_;
  try {
    const std::string shape =
        ShapeFields(Unswapped(params, plan.choice.swap_sides), plan.choice);
    const auto found = shapes_.find(shape);
    if (found != shapes_.end()) {
      totals = &found->second;
    } else if (shapes_.size() < kMaxShapes) {
      totals = &shapes_[shape];
    }
  } catch (const std::bad_alloc&) {
  }
  ++totals->calls;
  totals->nanoseconds += static_cast<double>(time.count());
  totals->packing_nanoseconds += static_cast<double>(packing.count());
  totals->ops += Ops(params);
}

std::string CallSummary::Lines() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<std::string, Totals>> rows(shapes_.begin(),
                                                   shapes_.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.nanoseconds > b.second.nanoseconds;
  });
  if (others_.calls > 0) rows.emplace_back("others,,,,,,,,,,", others_);
  if (rows.empty()) return "";
  std::string lines = kSummaryHeader;
  for (const auto& [shape, totals] : rows) {
    char numbers[100];
    std::snprintf(numbers, sizeof(numbers), "%lld,%.3f,%.3f,%.3f",
                  static_cast<long long>(totals.calls),
                  totals.nanoseconds * 1e-6, totals.packing_nanoseconds * 1e-6,
                  totals.nanoseconds > 0 ? totals.ops / totals.nanoseconds : 0);
    absl::StrAppend(&lines, "ruy_like_summary,", numbers, ",", shape, "\n");
  }
  return lines;
}

void VerboseCall::Print(const TrMulParams& params, const Plan& plan,
                        Path permitted, std::chrono::nanoseconds packing,
                        double share) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point stop =
      stop_ == Clock::time_point() ? Clock::now() : stop_;
  const ScopedFloatState float_state(FloatState::kDefault);
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(
      (stop - start_) * share);
  if (g_verbose_level == VerboseLevel::kSummary) {
    ProcessSummary* const summary = SummaryOfThisProcess();
    if (summary == nullptr) return;
    summary->calls.Add(params, plan, time, packing / std::max(plan.threads, 1));
    return;
  }
  // A product that has been computed does not fail because there is no memory
  // to report it.
  try {
    std::string lines;
    if (g_verbose_level == VerboseLevel::kDispatch) {
      lines = DispatchLines(params, plan, permitted);
    }
    absl::StrAppend(&lines, CallLine(params, plan, time));
    static std::once_flag header_is_out;
    std::call_once(header_is_out, [] { std::fputs(kVerboseHeader, stderr); });
    // One write for a product's lines: those of two Contexts do not mix.
    std::fwrite(lines.data(), 1, lines.size(), stderr);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace ruy_like
