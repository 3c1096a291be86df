// The macro that marks what a shared ruy_like exports.
//
// Used by every public header on public functions and classes; everything else
// is hidden (the library is built with -fvisibility=hidden). It is empty in a
// static build, so that a shared object which links us does not export our
// symbols as its own, and empty for callers, who need no import mark: only
// functions are exported, which Windows' linkers find without it.
#ifndef RUY_LIKE_EXPORT_H_
#define RUY_LIKE_EXPORT_H_

#if defined(RUY_LIKE_BUILD_DLL)
#define RUY_LIKE_EXPORT __declspec(dllexport)
#elif defined(RUY_LIKE_BUILD_SHARED) && defined(__GNUC__)
#define RUY_LIKE_EXPORT __attribute__((visibility("default")))
#else
#define RUY_LIKE_EXPORT
#endif

#endif  // RUY_LIKE_EXPORT_H_
