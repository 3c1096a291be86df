// ggml, of llama.cpp: float products, int8 weights as q8_0, and by floats
// weights with group scales, of 2 bits (q2_0, tq2_0), 4 (q4_0, iq4_nl, mxfp4,
// nvfp4) and 8 (q8_0), or of 16-bit floats.
//
// Its shared libraries are opened at run time, from the folder that
// RUY_LIKE_BENCH_GGML_DIR names (compare --ggml_dir), since they come without
// headers: the declarations here are those of its public functions that are
// used. ggml takes the one of its CPU libraries that suits the processor best.
//
// q8_0 has a scale for each 32 weights of a row, and ggml quantizes the
// activations in the same way in each call: it is given them as floats, and
// returns floats. It has no bias, requantization or clamp. So its sums differ a
// little from ours, and bringing them to our dst, for the comparison of
// results, is not timed. By weights of 16-bit floats it rounds the activations
// to that type.
#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/peers/peer.h"

namespace {

using ruy_like::bench::PeerProblem;
using ruy_like::bench::PeerRunner;
using ruy_like::bench::PeerTypes;

// ## ggml's public functions

struct InitParams {  // ggml_init_params
  std::size_t mem_size;
  void* mem_buffer;
  bool no_alloc;
};
// ggml_type
constexpr int kF32 = 0, kF16 = 1, kQ40 = 2, kQ80 = 8, kIQ4NL = 20, kBF16 = 30,
              kTQ20 = 35, kMXFP4 = 39, kNVFP4 = 40, kQ20 = 42;
constexpr int kCpuDevice = 0;  // ggml_backend_dev_type

struct Ggml {
  // libggml-base
  void* (*init)(InitParams);
  void (*free)(void* context);
  void* (*new_tensor_2d)(void* context, int type, std::int64_t ne0,
                         std::int64_t ne1);
  void* (*mul_mat)(void* context, void* a, void* b);
  void* (*new_graph)(void* context);
  void (*build_forward_expand)(void* graph, void* tensor);
  std::size_t (*tensor_overhead)();
  std::size_t (*graph_overhead)();
  std::size_t (*quantize_chunk)(int type, const float* src, void* dst,
                                std::int64_t start, std::int64_t rows,
                                std::int64_t cols, const float* importance);
  std::size_t (*row_size)(int type, std::int64_t count);
  std::int64_t (*block_size)(int type);
  const char* (*version)();
  void* (*alloc_tensors)(void* context, void* backend);
  void (*buffer_free)(void* buffer);
  void (*tensor_set)(void* tensor, const void* data, std::size_t offset,
                     std::size_t size);
  void (*tensor_get)(const void* tensor, void* data, std::size_t offset,
                     std::size_t size);
  int (*graph_compute)(void* backend, void* graph);
  void* (*get_device)(void* backend);
  void* (*device_registry)(void* device);
  void* (*proc_address)(void* registry, const char* name);
  // libggml
  void (*load_all)(const char* directory);
  void* (*init_by_type)(int type, const char* params);

  void* backend = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool FindBase(void* base, Ggml* g) {
  return Find(base, "ggml_init", &g->init) &&
         Find(base, "ggml_free", &g->free) &&
         Find(base, "ggml_new_tensor_2d", &g->new_tensor_2d) &&
         Find(base, "ggml_mul_mat", &g->mul_mat) &&
         Find(base, "ggml_new_graph", &g->new_graph) &&
         Find(base, "ggml_build_forward_expand", &g->build_forward_expand) &&
         Find(base, "ggml_tensor_overhead", &g->tensor_overhead) &&
         Find(base, "ggml_graph_overhead", &g->graph_overhead) &&
         Find(base, "ggml_quantize_chunk", &g->quantize_chunk) &&
         Find(base, "ggml_row_size", &g->row_size) &&
         Find(base, "ggml_blck_size", &g->block_size) &&
         Find(base, "ggml_version", &g->version) &&
         Find(base, "ggml_backend_alloc_ctx_tensors", &g->alloc_tensors) &&
         Find(base, "ggml_backend_buffer_free", &g->buffer_free) &&
         Find(base, "ggml_backend_tensor_set", &g->tensor_set) &&
         Find(base, "ggml_backend_tensor_get", &g->tensor_get) &&
         Find(base, "ggml_backend_graph_compute", &g->graph_compute) &&
         Find(base, "ggml_backend_get_device", &g->get_device) &&
         Find(base, "ggml_backend_dev_backend_reg", &g->device_registry) &&
         Find(base, "ggml_backend_reg_get_proc_address", &g->proc_address);
}

// The file in the folder that is libggml.so or libggml.<version>.so.
std::string MainLibrary(const std::string& directory) {
  std::string found;
  DIR* dir = opendir(directory.c_str());
  while (const dirent* entry = dir != nullptr ? readdir(dir) : nullptr) {
    if (std::strncmp(entry->d_name, "libggml.", 8) == 0) found = entry->d_name;
  }
  if (dir != nullptr) closedir(dir);
  return found;
}

// Null where there is no ggml. Its libraries stay loaded.
const Ggml* Load() {
  const char* directory = std::getenv("RUY_LIKE_BENCH_GGML_DIR");
  if (directory == nullptr || *directory == '\0') return nullptr;
  const std::string path = std::string(directory) + "/";
  void* base = dlopen((path + "libggml-base.so").c_str(), RTLD_NOW);
  void* main = dlopen((path + MainLibrary(directory)).c_str(), RTLD_NOW);
  static Ggml ggml;
  if (base == nullptr || main == nullptr || !FindBase(base, &ggml) ||
      !Find(main, "ggml_backend_load_all_from_path", &ggml.load_all) ||
      !Find(main, "ggml_backend_init_by_type", &ggml.init_by_type)) {
    return nullptr;
  }
  ggml.load_all(directory);
  ggml.backend = ggml.init_by_type(kCpuDevice, nullptr);
  if (ggml.backend == nullptr) return nullptr;
  void (*set_threads)(void* backend, int count);
  set_threads = reinterpret_cast<decltype(set_threads)>(
      ggml.proc_address(ggml.device_registry(ggml.get_device(ggml.backend)),
                        "ggml_backend_set_n_threads"));
  if (set_threads == nullptr) return nullptr;
  set_threads(ggml.backend, 1);
  return &ggml;
}

const Ggml* Library() {
  static const Ggml* const library = Load();
  return library;
}

// ## Products

// The ggml_type of the weights, -1 where it has none that are like ours.
int WeightType(PeerTypes types) {
  switch (types) {
    case PeerTypes::kF32:
      return kF32;
    case PeerTypes::kBF16F32:
      return kBF16;
    case PeerTypes::kF16F32:
      return kF16;
    case PeerTypes::kS4G32:
      return kQ40;
    case PeerTypes::kS8:
    case PeerTypes::kS8G32:
      return kQ80;
    case PeerTypes::kS2G64:
      return kQ20;
    case PeerTypes::kS2G256:
      return kTQ20;
    case PeerTypes::kIQ4NL:
      return kIQ4NL;
    case PeerTypes::kMXFP4:
      return kMXFP4;
    case PeerTypes::kNVFP4:
      return kNVFP4;
    default:
      return -1;
  }
}

bool HasBlocks(int type) {
  return type != kF32 && type != kF16 && type != kBF16;
}

class GgmlRunner final : public PeerRunner {
 public:
  GgmlRunner(const Ggml* ggml, const PeerProblem& problem)
      : ggml_(*ggml), problem_(problem) {
    const int type = WeightType(problem.types);
    const std::int64_t rows = problem.rows, cols = problem.cols,
                       depth = problem.depth;
    context_ = ggml_.init(
        {8 * ggml_.tensor_overhead() + ggml_.graph_overhead(), nullptr, true});
    void* weights = ggml_.new_tensor_2d(context_, type, depth, rows);
    void* activations = ggml_.new_tensor_2d(context_, kF32, depth, cols);
    dst_ = ggml_.mul_mat(context_, weights, activations);
    graph_ = ggml_.new_graph(context_);
    ggml_.build_forward_expand(graph_, dst_);
    buffer_ = ggml_.alloc_tensors(context_, ggml_.backend);
    const std::size_t weight_bytes = rows * ggml_.row_size(type, depth);
    if (!HasBlocks(type)) {
      ggml_.tensor_set(weights, problem.lhs, 0, weight_bytes);
    } else {
      std::vector<float> floats;
      const float* lhs = static_cast<const float*>(problem.lhs);
      if (problem.types == PeerTypes::kS8) {
        floats = ToFloats(problem.lhs, rows * depth, 0);
        lhs = floats.data();
      }
      std::vector<char> packed(weight_bytes);
      ggml_.quantize_chunk(type, lhs, packed.data(), 0, rows, depth, nullptr);
      ggml_.tensor_set(weights, packed.data(), 0, packed.size());
    }
    if (problem.types != PeerTypes::kS8) {
      ggml_.tensor_set(activations, problem.rhs, 0, 4 * depth * cols);
      return;
    }
    const std::vector<float> rhs =
        ToFloats(problem.rhs, depth * cols, problem.rhs_zero_point);
    ggml_.tensor_set(activations, rhs.data(), 0, 4 * rhs.size());
  }

  ~GgmlRunner() override {
    ggml_.buffer_free(buffer_);
    ggml_.free(context_);
  }

  void Run() override { ggml_.graph_compute(ggml_.backend, graph_); }

  void Finish() override {
    const std::size_t count = problem_.rows * problem_.cols;
    if (problem_.types != PeerTypes::kS8) {
      ggml_.tensor_get(dst_, problem_.dst, 0, 4 * count);
      return;
    }
    std::vector<float> sums(count);
    ggml_.tensor_get(dst_, sums.data(), 0, 4 * count);
    auto* dst = static_cast<std::int8_t*>(problem_.dst);
    for (std::size_t i = 0; i < count; ++i) {
      const std::ptrdiff_t row = i % problem_.rows;
      const double value =
          std::ldexp((sums[i] + static_cast<double>(problem_.bias[row])) *
                         problem_.fixedpoint[row],
                     problem_.exponent[row] - 31);
      dst[i] = static_cast<std::int8_t>(std::clamp(
          std::round(value) + problem_.dst_zero_point, -128.0, 127.0));
    }
  }

 private:
  static std::vector<float> ToFloats(const void* data, std::size_t count,
                                     std::int32_t zero_point) {
    const auto* values = static_cast<const std::int8_t*>(data);
    std::vector<float> floats(count);
    for (std::size_t i = 0; i < count; ++i) {
      floats[i] = static_cast<float>(values[i] - zero_point);
    }
    return floats;
  }

  const Ggml& ggml_;
  const PeerProblem problem_;
  void* context_;
  void* dst_;
  void* graph_;
  void* buffer_;
};

// With one thread alone: for more it starts threads in each call, unless the
// host brings a pool. Nothing is packed beforehand, but weights are quantized.
PeerRunner* Prepare(const PeerProblem& problem) {
  const int type = WeightType(problem.types);
  if (Library() == nullptr || problem.threads > 1 || !HasUsualOrders(problem) ||
      type < 0 ||
      (HasBlocks(type) && problem.depth % Library()->block_size(type) != 0)) {
    return nullptr;
  }
  return new GgmlRunner(Library(), problem);
}

const char* Describe() {
  return Library() == nullptr ? nullptr : Library()->version();
}

const ruy_like::bench::Peer kPeer = {"ggml", Describe, false, Prepare, 3};

}  // namespace

const ruy_like::bench::Peer* RuyLikeBenchPeer() { return &kPeer; }
