// Public: the whole library in one header.
//
//   Matrix, Layout, MakeSimpleLayout, Order, CachePolicy   matrix.h
//   BFloat16, Float16: elements of 16 bits                 float16.h
//   Float8E4M3, Float8E5M2: elements of 8 bits             float8.h
//   MulParams, ChannelDimension                            mul_params.h
//   Path and its names                                     path.h
//   Context: threads, permitted paths, prepacked cache     context.h
//   Mul, MulOptions                                        mul.h
//   PackedMatrix, Pack, Mul with packed operands           packed_matrix.h
//   GroupWeights, PackGroupWeights, Mul with them          group_weights.h
//   MulBatch, MulGroup: many products in one call          mul_batch.h
//   MulExperts: the experts of a mixture in one call       mul_experts.h
//   Executor: the host's own thread pool                   executor.h
//   ThreadPool: one that Contexts may share                thread_pool.h
//   MulPlan: products on the caller's own threads          mul_plan.h
//   ReferenceMul                                           reference_mul.h
//   ReferenceGroupMul                                     reference_group_mul.h
#ifndef RUY_LIKE_RUY_LIKE_H_
#define RUY_LIKE_RUY_LIKE_H_

#include "ruy_like/context.h"
#include "ruy_like/executor.h"
#include "ruy_like/float16.h"
#include "ruy_like/float8.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_experts.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/path.h"
#include "ruy_like/reference_group_mul.h"
#include "ruy_like/reference_mul.h"
#include "ruy_like/thread_pool.h"

#endif  // RUY_LIKE_RUY_LIKE_H_
