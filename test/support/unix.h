// Test support: whether the tests run on a Unix system, with processes that
// fork, mmap of files and limits of resources. Emscripten has the headers
// alone.
#ifndef RUY_LIKE_TEST_SUPPORT_UNIX_H_
#define RUY_LIKE_TEST_SUPPORT_UNIX_H_

#if defined(_WIN32) || defined(__EMSCRIPTEN__)
#define RUY_LIKE_TEST_UNIX 0
#else
#define RUY_LIKE_TEST_UNIX 1
#endif

#endif  // RUY_LIKE_TEST_SUPPORT_UNIX_H_
