// OS: this process: its number, its forks, the signals of its threads.
#ifndef RUY_LIKE_OS_PROCESS_H_
#define RUY_LIKE_OS_PROCESS_H_

namespace ruy_like::os {

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
