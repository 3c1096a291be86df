// Tests that doc/observing.md shows what the programs print, as far as that
// does not depend on the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "test/support/subprocess.h"

namespace ruy_like {
namespace {

using Lines = std::vector<std::string>;

// A block of the page: the command behind "$ ", if there is one, and what it
// shows.
struct Block {
  std::string command;
  Lines shown;
};

std::vector<Block> ReadPage() {
  std::vector<Block> blocks;
  bool inside = false, in_command = false;
  const Lines page = absl::StrSplit(ReadFile(OBSERVING_PAGE), '\n');
  for (const std::string& line : page) {
    if (absl::StartsWith(line, "```")) {
      inside = !inside;
      if (inside) blocks.emplace_back();
    } else if (inside) {
      Block& block = blocks.back();
      const bool begins = absl::StartsWith(line, "$ ");
      if (begins || in_command) {
        absl::StrAppend(&block.command, line.substr(begins ? 2 : 0), "\n");
        in_command = absl::EndsWith(line, "\\");
      } else {
        block.shown.push_back(line);
      }
    }
  }
  return blocks;
}

std::string WithPrograms(const std::string& command) {
  return absl::StrReplaceAll(
      command, {{"ruy_like_parametrized_example", PARAMETRIZED_PROGRAM},
                {"ruy_like_info", INFO_PROGRAM}});
}

// What of a line is the same on every machine; empty where nothing is.
std::string Fixed(const std::string& line) {
  if (absl::StartsWith(line, "ruy_like_not_taken,")) return "";
  if (absl::StartsWith(line, "ruy_like_mul,") &&
      !absl::StartsWith(line, "ruy_like_mul,path")) {
    Lines fields = absl::StrSplit(line, ',');
    // path, kernel, threads to depth_blocks, rhs_source, times
    for (const std::size_t i : {1, 2, 18, 19, 20, 21, 23, 24, 25}) {
      if (i < fields.size()) fields[i] = "*";
    }
    return absl::StrJoin(fields, ",");
  }
  // ruy_like_info's lines: a label, or a path and whether it is permitted.
  static const std::regex* const kLabel =
      new std::regex("(processor|features|loops for|caches) .*");
  static const std::regex* const kPath =
      new std::regex("(  [a-z0-9]+) +(permitted|not |the |RUY_LIKE).*");
  if (absl::StartsWith(line, "ruy_like_summary,") &&
      !absl::StartsWith(line, "ruy_like_summary,calls")) {
    Lines fields = absl::StrSplit(line, ',');
    // times, gops, path, kernel
    for (const std::size_t i : {2, 3, 4, 5, 6}) {
      if (i < fields.size()) fields[i] = "*";
    }
    return absl::StrJoin(fields, ",");
  }
  std::smatch match;
  if (std::regex_match(line, match, *kLabel) ||
      std::regex_match(line, match, *kPath)) {
    return match[1];
  }
  if (absl::StartsWith(line, "{\"ph\"")) {
    return std::regex_replace(
        std::regex_replace(line, std::regex("[0-9]+([.][0-9]+)?"), "#"),
        std::regex("(\"kernel\",\"name\":)\"[^\"]*\""), "$1*");
  }
  return line;
}

// What is shown is printed, line by line; "..." stands for any lines.
void ExpectShows(const Lines& shown, const std::string& printed) {
  Lines lines;
  for (const absl::string_view line : absl::StrSplit(printed, '\n')) {
    lines.push_back(Fixed(std::string(line)));
  }
  // Advice depends on where memory lies.
  lines.erase(std::remove_if(lines.begin(), lines.end(),
                             [](const std::string& line) {
                               return line.empty() ||
                                      absl::StartsWith(line, "ruy_like_advice");
                             }),
              lines.end());
  auto next = lines.begin();
  bool any = false;
  for (const std::string& line : shown) {
    const std::string fixed = Fixed(line);
    if (fixed.empty()) continue;
    if (absl::StripAsciiWhitespace(line) == "...") {
      any = true;
      continue;
    }
    if (any) next = std::find(next, lines.end(), fixed);
    ASSERT_TRUE(next != lines.end() && *next == fixed)
        << line << "\nis not, or not here, in\n"
        << printed;
    ++next;
    any = false;
  }
}

TEST(ObservingTest, CommandsPrintWhatThePageShows) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the page shows paths of x86";
#endif
  const std::string info = RunProgram(INFO_PROGRAM).out;
  int commands = 0;
  for (const Block& block : ReadPage()) {
    SCOPED_TRACE(block.command);
    for (const std::string& line : block.shown) {
      if (!absl::StartsWith(line, "ruy_like_not_taken,")) continue;
      const Lines fields = absl::StrSplit(line, absl::MaxSplits(',', 3));
      ASSERT_EQ(fields.size(), 4u) << line;
      EXPECT_THAT(info, testing::HasSubstr(absl::StrCat(fields[1], " ")));
      EXPECT_THAT(info, testing::HasSubstr(fields[2]));
    }
    if (block.command.empty()) continue;
    ++commands;
    const ProgramResult result =
        RunProgram(absl::StrCat("( ", WithPrograms(block.command), ")"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    ExpectShows(block.shown, result.out + result.err);
  }
  EXPECT_EQ(commands, 4);
}

}  // namespace
}  // namespace ruy_like
