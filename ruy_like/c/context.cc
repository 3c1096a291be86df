// The C interface: errors, the machine, contexts.
// Tested in test/c/ruy_like_test.cc.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/c/handles.h"
#include "ruy_like/c/ruy_like.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/ruy_like.h"
#include "ruy_like/thread_pool.h"

namespace ruy_like::c_interface {
namespace {

thread_local char g_last_error[512];  // threads have nothing to destroy

static_assert(static_cast<int>(absl::StatusCode::kInvalidArgument) ==
                      RL_INVALID_ARGUMENT &&
                  static_cast<int>(absl::StatusCode::kDataLoss) == RL_DATA_LOSS,
              "the values are absl::StatusCode's");

// By how much a struct may be larger than ours before its size is garbage.
constexpr std::size_t kMaxUnknownBytes = 256;

struct Setting {
  const char* name;
  std::int64_t min, max;
  void (*set)(rl_context* context, std::int64_t value);  // null: only to get
  std::int64_t (*get)(rl_context* context);
};

// By RL_MAX_THREADS - 1, ...
const Setting kSettings[] = {
#define RUY_LIKE_SET(statement) \
  [](rl_context* c, std::int64_t value) { statement; }
#define RUY_LIKE_GET(value) \
  [](rl_context* c) { return static_cast<std::int64_t>(value); }
    {"max_threads", 1, std::numeric_limits<int>::max(),
     RUY_LIKE_SET(c->context.set_max_num_threads(static_cast<int>(value))),
     RUY_LIKE_GET(c->context.max_num_threads())},
    {"force_threads", 0, 1,
     RUY_LIKE_SET(c->context.set_num_threads_strategy(
         static_cast<NumThreadsStrategy>(value))),
     RUY_LIKE_GET(c->context.num_threads_strategy())},
    {"float_sums", RL_SUM_AS_CONTEXT, RL_SUM_IN_ORDER,
     RUY_LIKE_SET(c->context.set_float_sums(SumsOf(value))),
     RUY_LIKE_GET(2 - static_cast<int>(c->context.float_sums()))},
    {"tuning", RL_TUNE_AUTO, RL_TUNE_OUT_OF_ORDER,
     RUY_LIKE_SET(c->context.set_tuning(static_cast<Tuning>(value))),
     RUY_LIKE_GET(c->context.tuning())},
    {"cache_limit_bytes", 0, PTRDIFF_MAX,
     RUY_LIKE_SET(c->context.set_prepacked_cache_limit_bytes(
         static_cast<std::size_t>(value))),
     RUY_LIKE_GET(std::min<std::size_t>(
         c->context.prepacked_cache_limit_bytes(), PTRDIFF_MAX))},
    {"spin_microseconds", 0, 1000000000,
     RUY_LIKE_SET(c->pool->set_spin_milliseconds(1e-3f * value)),
     RUY_LIKE_GET(std::lround(1e3f * c->pool->spin_milliseconds()))},
    {"cache_bytes", 0, 0, nullptr,
     RUY_LIKE_GET(c->context.prepacked_cache_bytes())},
    {"last_threads", 0, 0, nullptr,
     RUY_LIKE_GET(c->context.last_used_num_threads())},
    {"advisories", 0, 0, nullptr,
     RUY_LIKE_GET(c->context.performance_advisories())},
#undef RUY_LIKE_GET
#undef RUY_LIKE_SET
};
static_assert(RL_ADVISORIES == std::size(kSettings), "a line for each");

absl::Status FindSetting(std::int32_t number, const Setting** setting) {
  if (number < 1 || number > RL_ADVISORIES) {
    return Wrong("unknown setting ", number);
  }
  *setting = &kSettings[number - 1];
  return absl::OkStatus();
}

}  // namespace

ABSL_ATTRIBUTE_COLD rl_status StoreError(const absl::Status& status) {
  absl::string_view text = status.message();
  if (text.empty()) {
    text = absl::IsInternal(status) ? "an exception" : "out of memory";
  }
  const std::size_t length = std::min(text.size(), sizeof(g_last_error) - 1);
  std::memcpy(g_last_error, text.data(), length);
  g_last_error[length] = '\0';
  return static_cast<rl_status>(status.code());
}

ABSL_ATTRIBUTE_COLD absl::Status CopyStruct(const char* name, const void* given,
                                            std::size_t size, std::size_t first,
                                            std::size_t known, void* copy) {
  if (size < first || size > known + kMaxUnknownBytes ||
      size % alignof(void*) != 0) {
    return Wrong(name, " has size = ", size, ", not ", known);
  }
  const char* const bytes = static_cast<const char*>(given);
  if (size > known && std::any_of(bytes + known, bytes + size,
                                  [](char byte) { return byte != 0; })) {
    return Wrong(name, " has size = ", size, " and sets a field that version ",
                 RUY_LIKE_C_VERSION, " does not have");
  }
  std::memset(copy, 0, known);
  std::memcpy(copy, given, std::min(size, known));
  return absl::OkStatus();
}

}  // namespace ruy_like::c_interface

using namespace ruy_like;               // NOLINT: below are C functions alone
using namespace ruy_like::c_interface;  // NOLINT

const char* rl_version(void) { return RUY_LIKE_C_VERSION; }

const char* rl_last_error(void) { return g_last_error; }

rl_status rl_get_info(rl_info* info) {
  return Call({}, [=] {
    rl_info copy;
    const rl_info* given = info;
    RUY_LIKE_RETURN_IF_ERROR(
        Open("info", &given, &copy, offsetof(rl_info, default_threads)));
    struct Texts {
      std::string features = CpuFeatureNames(DetectCpuFeatures());
      std::string compiled_paths = PathNames(CompiledPaths());
      std::string paths = PathNames(Context().runtime_enabled_paths());
    };
    static const Texts& texts = *new Texts;  // never destroyed
    const CacheSizes& caches = DetectedCacheSizes();
    copy = {info->size,
            texts.features.c_str(),
            texts.compiled_paths.c_str(),
            texts.paths.c_str(),
            caches.l1d_bytes,
            caches.l2_bytes,
            caches.l3_bytes,
            DefaultThreadCount()};
    std::memcpy(info, &copy, std::min(info->size, sizeof(copy)));
    return absl::OkStatus();
  });
}

rl_status rl_context_create(rl_context** context) {
  return Call({{"context", context}},
              [=] { return Make(context, std::make_shared<ThreadPool>()); });
}

rl_status rl_context_create_sharing(rl_context* other, rl_context** context) {
  return Call({{"other", other}, {"context", context}},
              [=] { return Make(context, other->pool); });
}

void rl_context_destroy(rl_context* context) { delete context; }

rl_status rl_context_set(rl_context* context, int32_t setting, int64_t value) {
  return Call({{"context", context}}, [=] {
    const Setting* found = nullptr;
    RUY_LIKE_RETURN_IF_ERROR(FindSetting(setting, &found));
    if (found->set == nullptr) return Wrong(found->name, " cannot be set");
    if (value < found->min || value > found->max) {
      return Wrong(found->name, " = ", value, ", not in [", found->min, ", ",
                   found->max, "]");
    }
    found->set(context, value);
    return absl::OkStatus();
  });
}

rl_status rl_context_get(rl_context* context, int32_t setting, int64_t* value) {
  return Call({{"context", context}, {"value", value}}, [=] {
    const Setting* found = nullptr;
    RUY_LIKE_RETURN_IF_ERROR(FindSetting(setting, &found));
    *value = found->get(context);
    return absl::OkStatus();
  });
}

rl_status rl_context_set_threads(rl_context* context, int32_t threads) {
  return rl_context_set(context, RL_MAX_THREADS, threads);
}

rl_status rl_context_set_paths(rl_context* context, const char* paths) {
  return Call({{"context", context}}, [=] {
    absl::StatusOr<Path> parsed = Path::kNone;
    if (paths != nullptr) parsed = ParsePaths(paths);
    if (parsed.ok()) context->context.set_runtime_enabled_paths(*parsed);
    return parsed.status();
  });
}

rl_status rl_context_set_executor(rl_context* context,
                                  const rl_executor* executor) {
  return Call({{"context", context}}, [=] {
    std::unique_ptr<rl_context::Host> host;
    const rl_executor* given = executor;
    rl_executor copy;
    if (executor != nullptr) {
      RUY_LIKE_RETURN_IF_ERROR(Open("executor", &given, &copy));
      if (given->max_concurrency == nullptr || given->parallel_for == nullptr) {
        return Wrong("executor lacks a function");
      }
      host = std::make_unique<rl_context::Host>(*given);
    }
    context->context.set_executor(host.get());
    context->host = std::move(host);
    return absl::OkStatus();
  });
}

rl_status rl_context_clear_cache(rl_context* context) {
  return Call({{"context", context}}, [=] {
    context->context.ClearPrepackedCache();
    return absl::OkStatus();
  });
}

rl_status rl_context_parallel_for(rl_context* context, int32_t count,
                                  void (*function)(void* argument, int i),
                                  void* argument) {
  return Call({{"context", context}}, [=] {
    return context->context.ParallelFor(count, function, argument);
  });
}

const char* rl_context_last_path(const rl_context* context) {
  return context == nullptr ? "" : PathName(context->context.last_used_path());
}

const char* rl_context_last_kernel(const rl_context* context) {
  return context == nullptr ? "" : context->context.last_used_kernel();
}
