// OS: the environment, for base/env.h alone.
#ifndef RUY_LIKE_OS_ENVIRONMENT_H_
#define RUY_LIKE_OS_ENVIRONMENT_H_

namespace ruy_like::os {

// The variable's value, valid until the environment changes. Null where it is
// not set, and in a process that has more rights than who started it (a
// set-user-ID program): a user must not choose what files that writes.
const char* GetEnvironment(const char* name);

}  // namespace ruy_like::os

#endif  // RUY_LIKE_OS_ENVIRONMENT_H_
