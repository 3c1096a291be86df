// Drop-in for ruy: RUY_CHECK* and, without NDEBUG only, RUY_DCHECK*.
//
// A check that fails prints file, line, condition and values to stderr and
// aborts. For users' code: nothing of ruy_like depends on it.
#ifndef RUY_LIKE_DROPIN_RUY_CHECK_MACROS_H_
#define RUY_LIKE_DROPIN_RUY_CHECK_MACROS_H_

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <type_traits>

#include "ruy/dropin_visibility.h"

namespace ruy::check_macros {

// An operand as the comparison would convert it by itself: a number to the type
// that it has in common with the other one; but compilers do not warn of that,
// as they do of `size() == 3`.
template <typename T, typename Other>
RUY_LIKE_LOCAL constexpr decltype(auto) Comparable(const T& value) {
  if constexpr (std::is_arithmetic<T>::value &&
                std::is_arithmetic<Other>::value) {
    return static_cast<typename std::common_type<T, Other>::type>(value);
  } else {
    return (value);  // in brackets: as a reference
  }
}

// Numbers and pointers as such, enumerators by number, all else as "(?)".
template <typename T>
RUY_LIKE_LOCAL std::string ToString(const T& value) {
  std::ostringstream stream;
  if constexpr (std::is_enum<T>::value) {
    stream << "enumerator "
           << +static_cast<typename std::underlying_type<T>::type>(value);
  } else if constexpr (std::is_same<T, std::nullptr_t>::value) {
    stream << "nullptr";
  } else if constexpr (std::is_convertible<T, const volatile void*>::value) {
    // Streams take pointers to volatile for a bool.
    stream << const_cast<const void*>(static_cast<const volatile void*>(value));
  } else if constexpr (std::is_arithmetic<T>::value) {
    stream << +value;
  } else {
    stream << "(?)";
  }
  return stream.str();
}

[[noreturn]] RUY_LIKE_LOCAL inline void Fail(const char* file, int line,
                                             const char* macro,
                                             const char* condition,
                                             const std::string& values) {
  std::fprintf(stderr, "%s:%d: %s(%s) failed%s%s\n", file, line, macro,
               condition, values.empty() ? "" : ": ", values.c_str());
  std::abort();
}

template <typename Lhs, typename Rhs>
[[noreturn]] RUY_LIKE_LOCAL void FailComparison(const char* file, int line,
                                                const char* macro,
                                                const char* condition,
                                                const Lhs& lhs,
                                                const Rhs& rhs) {
  Fail(file, line, macro, condition, ToString(lhs) + " vs. " + ToString(rhs));
}

}  // namespace ruy::check_macros

#define RUY_LIKE_DROPIN_CHECK(macro, condition)                             \
  do {                                                                      \
    if (!(condition)) {                                                     \
      ::ruy::check_macros::Fail(__FILE__, __LINE__, macro, #condition, ""); \
    }                                                                       \
  } while (false)

#define RUY_LIKE_DROPIN_CHECK_OP(macro, a, op, b)                            \
  do {                                                                       \
    const auto& ruy_check_a = (a);                                           \
    const auto& ruy_check_b = (b);                                           \
    using RuyCheckA = typename std::decay<decltype(ruy_check_a)>::type;      \
    using RuyCheckB = typename std::decay<decltype(ruy_check_b)>::type;      \
    if (!(::ruy::check_macros::Comparable<RuyCheckA, RuyCheckB>(ruy_check_a) \
              op ::ruy::check_macros::Comparable<RuyCheckB, RuyCheckA>(      \
                  ruy_check_b))) {                                           \
      ::ruy::check_macros::FailComparison(__FILE__, __LINE__, macro,         \
                                          #a " " #op " " #b, ruy_check_a,    \
                                          ruy_check_b);                      \
    }                                                                        \
  } while (false)

#define RUY_CHECK(condition) RUY_LIKE_DROPIN_CHECK("RUY_CHECK", condition)
#define RUY_CHECK_EQ(a, b) RUY_LIKE_DROPIN_CHECK_OP("RUY_CHECK_EQ", a, ==, b)
#define RUY_CHECK_NE(a, b) RUY_LIKE_DROPIN_CHECK_OP("RUY_CHECK_NE", a, !=, b)
#define RUY_CHECK_LT(a, b) RUY_LIKE_DROPIN_CHECK_OP("RUY_CHECK_LT", a, <, b)
#define RUY_CHECK_LE(a, b) RUY_LIKE_DROPIN_CHECK_OP("RUY_CHECK_LE", a, <=, b)
#define RUY_CHECK_GT(a, b) RUY_LIKE_DROPIN_CHECK_OP("RUY_CHECK_GT", a, >, b)
#define RUY_CHECK_GE(a, b) RUY_LIKE_DROPIN_CHECK_OP("RUY_CHECK_GE", a, >=, b)

#ifdef NDEBUG
#define RUY_DCHECK_IS_ENABLED false
#else
#define RUY_DCHECK_IS_ENABLED true
#endif

// Compiled always, so that what they mention counts as used; evaluated only
// where enabled.
#define RUY_LIKE_DROPIN_DCHECK(check) \
  do {                                \
    if (RUY_DCHECK_IS_ENABLED) {      \
      check;                          \
    }                                 \
  } while (false)

#define RUY_DCHECK(condition) RUY_LIKE_DROPIN_DCHECK(RUY_CHECK(condition))
#define RUY_DCHECK_EQ(a, b) RUY_LIKE_DROPIN_DCHECK(RUY_CHECK_EQ(a, b))
#define RUY_DCHECK_NE(a, b) RUY_LIKE_DROPIN_DCHECK(RUY_CHECK_NE(a, b))
#define RUY_DCHECK_LT(a, b) RUY_LIKE_DROPIN_DCHECK(RUY_CHECK_LT(a, b))
#define RUY_DCHECK_LE(a, b) RUY_LIKE_DROPIN_DCHECK(RUY_CHECK_LE(a, b))
#define RUY_DCHECK_GT(a, b) RUY_LIKE_DROPIN_DCHECK(RUY_CHECK_GT(a, b))
#define RUY_DCHECK_GE(a, b) RUY_LIKE_DROPIN_DCHECK(RUY_CHECK_GE(a, b))

#endif  // RUY_LIKE_DROPIN_RUY_CHECK_MACROS_H_
