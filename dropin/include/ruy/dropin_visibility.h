// Drop-in for ruy: what a library that is linked from clients' code may export.
//
// Not in ruy. Used by every header here, so that a client's shared object does
// not export the drop-in as its own: there ruy's names would bind to those of
// another library in the process that holds ruy itself, or the other way round.
#ifndef RUY_LIKE_DROPIN_RUY_DROPIN_VISIBILITY_H_
#define RUY_LIKE_DROPIN_RUY_DROPIN_VISIBILITY_H_

// On every function that is defined in a header. Functions, not classes and not
// the whole namespace: a client's class that has a member or a base of hidden
// type makes gcc warn (-Wattributes).
#if defined(__ELF__) || defined(__MACH__)
#define RUY_LIKE_LOCAL __attribute__((visibility("hidden")))
#else  // a DLL exports what is marked, and nothing else
#define RUY_LIKE_LOCAL
#endif

// On what the library defines. In a static build, the usual one, it is hidden
// there by the library's own compiler flags.
#if defined(RUY_LIKE_DROPIN_BUILD_DLL)
#define RUY_LIKE_DROPIN_EXPORT __declspec(dllexport)
#elif defined(RUY_LIKE_DROPIN_BUILD_SHARED)
#define RUY_LIKE_DROPIN_EXPORT __attribute__((visibility("default")))
#else
#define RUY_LIKE_DROPIN_EXPORT
#endif

#endif  // RUY_LIKE_DROPIN_RUY_DROPIN_VISIBILITY_H_
