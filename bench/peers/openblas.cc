// OpenBLAS: sgemm and, for one column, sgemv. OPENBLAS_CORETYPE chooses its
// kernels.
#include "bench/peers/cblas_runner.h"
#include "bench/peers/peer.h"

extern "C" char* openblas_get_config(void);

namespace {

const char* Describe() { return openblas_get_config(); }

const ruy_like::bench::Peer kPeer = {"openblas", Describe, false,
                                     ruy_like::bench::PrepareCblas};

}  // namespace

const ruy_like::bench::Peer* RuyLikeBenchPeer() { return &kPeer; }
