// OS: a lock that never takes memory.
//
// Used by base/mutex.h and the thread pool, where nothing may fail. Satisfies
// the standard's Lockable; a thread that holds it must not lock it again, but
// try_lock is then false.
#ifndef RUY_LIKE_OS_MUTEX_H_
#define RUY_LIKE_OS_MUTEX_H_

#include <mutex>

namespace ruy_like::os {

#if defined(_WIN32)

// Not std::mutex: mingw-w64's, on winpthreads, allocates when it is first
// locked, and throws without memory.
class NativeMutex final {
 public:
  void lock();
  bool try_lock();
  void unlock();

 private:
  void* srw_lock_ = nullptr;
};

#else

using NativeMutex = std::mutex;

#endif

}  // namespace ruy_like::os

#endif  // RUY_LIKE_OS_MUTEX_H_
