// A stand-in for oneDNN 3's <dnnl.hpp>, for a test that only compiles: the
// declarations that bench/peers/onednn.cc uses, after the documentation of
// version 3 (oneapi-src.github.io/oneDNN). Debian 12 has version 2, whose
// primitives are described and scaled differently. Nothing here is defined.
#ifndef RUY_LIKE_TEST_BENCH_ONEDNN3_DNNL_HPP_
#define RUY_LIKE_TEST_BENCH_ONEDNN3_DNNL_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <unordered_map>
#include <vector>

#define DNNL_VERSION_MAJOR 3
#define DNNL_ARG_SRC 1
#define DNNL_ARG_DST 17
#define DNNL_ARG_WEIGHTS 33
#define DNNL_ARG_BIAS 41
#define DNNL_ARG_ATTR_SCALES 4096
#define DNNL_ARG_ATTR_ZERO_POINTS 8192

namespace dnnl {

struct error : public std::exception {};

struct version_t {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};
const version_t* version();

enum class cpu_isa {
  isa_default,
  sse41,
  avx,
  avx2,
  avx2_vnni,
  avx2_vnni_2,
  avx512_core,
  avx512_core_vnni,
  avx512_core_bf16,
  avx512_core_fp16,
  avx512_core_amx,
  avx512_core_amx_fp16,
};
cpu_isa get_effective_cpu_isa();

enum class prop_kind { forward_training, forward_inference };

struct engine {
  enum class kind { any, cpu, gpu };
  engine(kind akind, std::size_t index);
};

struct stream {
  explicit stream(const engine& aengine);
  stream& wait();
};

struct memory {
  using dim = std::int64_t;
  using dims = std::vector<dim>;
  enum class data_type { undef, bf16, f32, s32, s8, u8 };
  enum class format_tag { undef, any, a, ab, ba, abc, acb };
  struct desc {
    desc(const dims& adims, data_type adata_type, format_tag aformat_tag,
         bool allow_empty = false);
    desc() = default;
    bool operator==(const desc& other) const;
  };
  memory(const desc& md, const engine& aengine);
  memory(const desc& md, const engine& aengine, void* handle);
  desc get_desc() const;
  void* get_data_handle() const;
};

struct primitive_attr {
  primitive_attr();
  void set_scales_mask(int arg, int mask);
  void set_zero_points_mask(int arg, int mask);
};

struct primitive_desc {};

struct primitive {
  void execute(const stream& astream,
               const std::unordered_map<int, memory>& args) const;
};

struct reorder : public primitive {
  reorder(const memory& src, const memory& dst,
          const primitive_attr& attr = primitive_attr());
  void execute(const stream& astream, memory& src, memory& dst) const;
};

struct matmul : public primitive {
  struct primitive_desc : public dnnl::primitive_desc {
    primitive_desc(const engine& aengine, const memory::desc& src_desc,
                   const memory::desc& weights_desc,
                   const memory::desc& bias_desc, const memory::desc& dst_desc,
                   const primitive_attr& attr = primitive_attr(),
                   bool allow_empty = false);
    memory::desc weights_desc() const;
  };
  matmul(const primitive_desc& pd);
};

struct inner_product_forward : public primitive {
  struct primitive_desc : public dnnl::primitive_desc {
    primitive_desc(const engine& aengine, prop_kind aprop_kind,
                   const memory::desc& src_desc,
                   const memory::desc& weights_desc,
                   const memory::desc& bias_desc, const memory::desc& dst_desc,
                   const primitive_attr& attr = primitive_attr(),
                   bool allow_empty = false);
    memory::desc weights_desc() const;
  };
  inner_product_forward(const primitive_desc& pd);
};

}  // namespace dnnl

#endif  // RUY_LIKE_TEST_BENCH_ONEDNN3_DNNL_HPP_
