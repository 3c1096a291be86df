#include "example/command_line.h"

#include <algorithm>
#include <iostream>
#include <map>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace command_line {
namespace {

// The flag and, for --noname, its value; null if there is no such flag.
absl::CommandLineFlag* FindFlag(absl::string_view name,
                                absl::string_view source, bool* negated) {
  absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
  *negated = false;
  if (flag == nullptr && absl::ConsumePrefix(&name, "no")) {
    flag = absl::FindCommandLineFlag(name);
    if (flag != nullptr && !flag->IsOfType<bool>()) flag = nullptr;
    *negated = true;
  }
  // Abseil and other libraries define flags, too.
  if (flag == nullptr || !absl::EndsWith(flag->Filename(), source)) {
    return nullptr;
  }
  return flag;
}

}  // namespace

absl::Status ParseFlags(int argc, char** argv, absl::string_view source,
                        std::vector<std::string>* rest) {
  bool only_rest = false;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    absl::string_view name = argument;
    if (rest != nullptr && !only_rest && argument == "--") {
      only_rest = true;
      continue;
    }
    if (only_rest || !absl::ConsumePrefix(&name, "--")) {
      if (rest == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("not a flag: ", argument, "; --help lists the flags"));
      }
      rest->emplace_back(argument);
      continue;
    }
    const std::size_t equals = name.find('=');
    const bool has_value = equals != absl::string_view::npos;
    std::string value(has_value ? name.substr(equals + 1) : "");
    name = name.substr(0, equals);
    bool negated = false;
    absl::CommandLineFlag* const flag = FindFlag(name, source, &negated);
    if (flag == nullptr || (negated && has_value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown flag: ", argument, "; --help lists the flags"));
    }
    if (!has_value && flag->IsOfType<bool>()) {
      value = negated ? "false" : "true";
    } else if (!has_value) {
      if (i + 1 == argc) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", name, " needs a value"));
      }
      value = argv[++i];
    }
    std::string error;
    if (!flag->ParseFrom(value, &error)) {
      return absl::InvalidArgumentError(error);
    }
  }
  return absl::OkStatus();
}

bool WantsHelp(int argc, char** argv) {
  return std::find(argv + 1, argv + argc, absl::string_view("--help")) !=
         argv + argc;
}

void PrintFlags(absl::string_view source) {
  std::map<std::string, const absl::CommandLineFlag*> sorted;
  for (const auto& entry : absl::GetAllFlags()) {
    if (!absl::EndsWith(entry.second->Filename(), source)) continue;
    sorted[std::string(entry.first)] = entry.second;
  }
  for (const auto& entry : sorted) {
    std::cout << absl::StreamFormat("  --%-16s %s (default: %s)\n", entry.first,
                                    entry.second->Help(),
                                    entry.second->DefaultValue());
  }
}

}  // namespace command_line
