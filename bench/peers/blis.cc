// BLIS: sgemm and, for one column, sgemv. BLIS_ARCH_TYPE, a number of its
// arch_t, chooses its kernels.
#include "bench/peers/cblas_runner.h"
#include "bench/peers/peer.h"

extern "C" void bli_init(void);
extern "C" int bli_arch_query_id(void);
extern "C" char* bli_arch_string(int id);
extern "C" char* bli_info_get_version_str(void);

namespace {

const char* Describe() {
  static char text[64];
  __builtin_snprintf(text, sizeof(text), "%s, %s", bli_info_get_version_str(),
                     bli_arch_string(bli_arch_query_id()));
  return text;
}

const ruy_like::bench::Peer kPeer = {"blis", Describe, false,
                                     ruy_like::bench::PrepareCblas};

}  // namespace

const ruy_like::bench::Peer* RuyLikeBenchPeer() {
  bli_init();  // 0.9 takes BLIS_ARCH_TYPE for invalid if asked before
  return &kPeer;
}
