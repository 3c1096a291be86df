// Base: how many threads this process can usefully run.
//
// Used by parallel.cc; DefaultThreadCount, for callers, is in thread_pool.h.
#ifndef RUY_LIKE_BASE_CPU_LIMITS_H_
#define RUY_LIKE_BASE_CPU_LIMITS_H_

namespace ruy_like {

// os::CountPermittedCpus as found by the first call. A few system calls once,
// then a load.
int PermittedCpus();

// The number of threads for so many permitted processors (INT_MAX: not known)
// and a quota of processor time (infinity: none), of a machine that reports
// `reported` processors (0: not known). At least 1.
int ThreadCountFor(int permitted, double quota, int reported);

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_CPU_LIMITS_H_
