// OS: this process: its environment, files that this names, its number, its
// forks, the signals of its threads.
#ifndef RUY_LIKE_OS_PROCESS_H_
#define RUY_LIKE_OS_PROCESS_H_

#include <cstdio>

namespace ruy_like::os {

// For base/env.h alone: the variable's value, valid until the environment
// changes. Null where it is not set, and in a process that has more rights than
// who started it (a set-user-ID program): a user must not choose what files
// that writes.
const char* GetEnvironment(const char* name);

// Opens `name` for writing and empties it, or creates it. Null, with errno set,
// if it is a link, a pipe or can not be written; EWOULDBLOCK if another process
// writes it. Neither this nor a write blocks, and programs that this process
// starts do not inherit the file. (A pipe's reader could end this process, by
// closing its end.) Without file locks, as on WebAssembly and some network file
// systems, other writers go unnoticed.
std::FILE* OpenForWriting(const char* name);

long ProcessId();

// A number that differs between a process and its forked children. A load,
// where the system has a handler for forks; always 0 where it has no forks.
int ForkCount();

// Calls function(argument) while this thread, and for ever the threads that it
// starts meanwhile, block all signals but those that a fault of their own
// raises. `function` must not throw.
void CallWithSignalsBlocked(void (*function)(void* argument), void* argument);

// True if std::thread can start threads at all: not in WebAssembly without
// -pthread, where it would end the program.
bool CanStartThreads();

}  // namespace ruy_like::os

#endif  // RUY_LIKE_OS_PROCESS_H_
