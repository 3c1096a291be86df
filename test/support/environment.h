// Test support: sets environment variables of this process.
#ifndef RUY_LIKE_TEST_SUPPORT_ENVIRONMENT_H_
#define RUY_LIKE_TEST_SUPPORT_ENVIRONMENT_H_

#include <stdlib.h>

namespace ruy_like {

inline bool SetEnvironment(const char* name, const char* value) {
#ifdef _WIN32
  return _putenv_s(name, value) == 0;
#else
  return setenv(name, value, 1) == 0;
#endif
}

inline bool UnsetEnvironment(const char* name) {
#ifdef _WIN32
  return _putenv_s(name, "") == 0;
#else
  return unsetenv(name) == 0;
#endif
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_ENVIRONMENT_H_
