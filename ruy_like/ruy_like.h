// Public: the whole library in one header.
//
//   Matrix, Layout, MakeSimpleLayout, Order, CachePolicy   matrix.h
//   MulParams, ChannelDimension                            mul_params.h
//   Path and its names                                     path.h
//   Context: threads, permitted paths, prepacked cache     context.h
//   Mul                                                    mul.h
//   ReferenceMul                                           reference_mul.h
#ifndef RUY_LIKE_RUY_LIKE_H_
#define RUY_LIKE_RUY_LIKE_H_

#include "ruy_like/context.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/path.h"
#include "ruy_like/reference_mul.h"

#endif  // RUY_LIKE_RUY_LIKE_H_
