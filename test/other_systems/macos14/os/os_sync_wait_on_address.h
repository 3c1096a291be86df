// What the library uses of the header that macOS has had since 14.4, after
// Apple's reference pages: test/run_compile_checks.sh has older headers.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RUY_LIKE_SINCE_14_4                              \
  __attribute__((availability(macos, introduced = 14.4), \
                 availability(ios, introduced = 17.4)))

enum os_sync_wait_on_address_flags_t : uint32_t {
  OS_SYNC_WAIT_ON_ADDRESS_NONE = 0,
};
enum os_sync_wake_by_address_flags_t : uint32_t {
  OS_SYNC_WAKE_BY_ADDRESS_NONE = 0,
};

extern "C" {
int os_sync_wait_on_address(void* address, uint64_t value, size_t size,
                            os_sync_wait_on_address_flags_t flags)
    RUY_LIKE_SINCE_14_4;
int os_sync_wake_by_address_any(void* address, size_t size,
                                os_sync_wake_by_address_flags_t flags)
    RUY_LIKE_SINCE_14_4;
}
