// Base: a mutex with the annotations that clang's thread-safety analysis
// reads.
//
// Used for the Context's lock. Not absl::Mutex: ThreadSanitizer does not see
// the locks of an Abseil that was built without it, as the system's is, and
// reports all that they guard.
#ifndef RUY_LIKE_BASE_MUTEX_H_
#define RUY_LIKE_BASE_MUTEX_H_

#include <mutex>

#include "absl/base/thread_annotations.h"
#include "ruy_like/os/mutex.h"

namespace ruy_like {

class ABSL_LOCKABLE Mutex final {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  // False if it is locked already, even by this thread (which the standard does
  // not promise, but every pthread mutex does).
  [[nodiscard]] bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return mutex_.try_lock();
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  os::NativeMutex mutex_;
};

// Holds a Mutex while it lives.
class ABSL_SCOPED_LOCKABLE MutexLock final {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  // Takes over a Mutex that this thread has locked.
  MutexLock(Mutex* mutex, std::adopt_lock_t)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex)
      : mutex_(mutex) {}
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_MUTEX_H_
