// Drop-in for ruy: get_ctx, from a Context to what is inside.
#ifndef RUY_LIKE_DROPIN_RUY_CONTEXT_GET_CTX_H_
#define RUY_LIKE_DROPIN_RUY_CONTEXT_GET_CTX_H_

#include "ruy/context.h"
#include "ruy/ctx.h"
#include "ruy/dropin_visibility.h"

namespace ruy {

RUY_LIKE_DROPIN_EXPORT const Ctx* get_ctx(const Context* context);
RUY_LIKE_DROPIN_EXPORT Ctx* get_ctx(Context* context);

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_CONTEXT_GET_CTX_H_
