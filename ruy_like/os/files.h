// OS: files that an environment variable names.
#ifndef RUY_LIKE_OS_FILES_H_
#define RUY_LIKE_OS_FILES_H_

#include <cstdio>

namespace ruy_like::os {

// Opens `name` for writing and empties it, or creates it. Null, with errno set,
// if it is a link, a pipe or can not be written; EWOULDBLOCK if another process
// writes it. Neither this nor a write blocks, and programs that this process
// starts do not inherit the file. (A pipe's reader could end this process, by
// closing its end.) Without file locks, as on WebAssembly and some network file
// systems, other writers go unnoticed.
std::FILE* OpenForWriting(const char* name);

}  // namespace ruy_like::os

#endif  // RUY_LIKE_OS_FILES_H_
