// OS: what wait.h asks for, by condition variables: for systems that cannot
// wait on an address.
#ifndef RUY_LIKE_OS_SLEEPERS_H_
#define RUY_LIKE_OS_SLEEPERS_H_

#include <atomic>
#include <cstdint>

namespace ruy_like::os {

// As SleepWhileEquals and WakeOne of wait.h. The first call of either throws
// std::bad_alloc without memory.
void SleepOnCondition(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value);
void WakeByCondition(const std::atomic<std::uint32_t>* word);

}  // namespace ruy_like::os

#endif  // RUY_LIKE_OS_SLEEPERS_H_
