// OS: putting threads to sleep and waking them. The thread pool is built on it;
// base/wait.h paces what spins before that.
#ifndef RUY_LIKE_OS_WAIT_H_
#define RUY_LIKE_OS_WAIT_H_

#include <atomic>
#include <cstdint>

namespace ruy_like::os {

// Sleeps until `word` no longer holds `value` and somebody has called WakeOne
// on it; returns at once if it holds another value already. May also return
// without cause: call it in a loop.
void SleepWhileEquals(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value);

// Wakes one thread asleep on `word`, or more. Change the word first.
void WakeOne(const std::atomic<std::uint32_t>* word);

// The same by condition variables, for systems that cannot wait on an address.
// The first call of either throws std::bad_alloc without memory.
void SleepOnCondition(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value);
void WakeByCondition(const std::atomic<std::uint32_t>* word);

// Offers this thread's processor to others.
void YieldThread();

}  // namespace ruy_like::os

#endif  // RUY_LIKE_OS_WAIT_H_
