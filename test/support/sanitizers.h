// Test support: which sanitizers the program is built with, and how much a test
// leaves out where programs are slow.
#ifndef RUY_LIKE_TEST_SUPPORT_SANITIZERS_H_
#define RUY_LIKE_TEST_SUPPORT_SANITIZERS_H_

// gcc says so by macros, clang by features.
#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define RUY_LIKE_TEST_ASAN 1
#else
#define RUY_LIKE_TEST_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define RUY_LIKE_TEST_TSAN 1
#else
#define RUY_LIKE_TEST_TSAN 0
#endif

namespace ruy_like {

constexpr bool kAddressSanitizer = RUY_LIKE_TEST_ASAN != 0;
constexpr bool kThreadSanitizer = RUY_LIKE_TEST_TSAN != 0;
constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;
// The step through long lists of sizes. Sanitized builds are many times slower,
// and the other builds test every size.
constexpr int kThinning = kSanitized ? 3 : 1;
// The step through products that take seconds, for emulated processors too,
// whose own kernels meet every small size.
#ifdef RUY_LIKE_TEST_EMULATED
constexpr int kLargeThinning = 3;
#else
constexpr int kLargeThinning = kThinning;
#endif

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_SANITIZERS_H_
