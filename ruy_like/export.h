// RUY_LIKE_EXPORT marks what a shared build of the library makes visible;
// everything else is hidden (-fvisibility=hidden).
#ifndef RUY_LIKE_EXPORT_H_
#define RUY_LIKE_EXPORT_H_

#define RUY_LIKE_EXPORT __attribute__((visibility("default")))

#endif  // RUY_LIKE_EXPORT_H_
