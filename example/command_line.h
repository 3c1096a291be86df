// Example: a command line into Abseil's flags.
//
// For the programs here whose exit code says what went wrong:
// absl::ParseCommandLine ends a program with exit code 1, which with them means
// a wrong result.
#ifndef EXAMPLE_COMMAND_LINE_H_
#define EXAMPLE_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace command_line {

// Sets the flags that the source file `source` (the end of its name) defines,
// from --name=value, --name value, --name and --noname (the last two for
// booleans). Arguments without "--", and all those behind a "--", go into
// `rest`; where that is null they are errors. InvalidArgument for these, for
// unknown flags and for values that do not fit.
absl::Status ParseFlags(int argc, char** argv, absl::string_view source,
                        std::vector<std::string>* rest);

// True if --help is among the arguments.
bool WantsHelp(int argc, char** argv);

// Prints the flags that `source` defines, one a line.
void PrintFlags(absl::string_view source);

}  // namespace command_line

#endif  // EXAMPLE_COMMAND_LINE_H_
