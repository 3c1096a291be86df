// Test support: runs a program and reads what it says.
#ifndef RUY_LIKE_TEST_SUPPORT_SUBPROCESS_H_
#define RUY_LIKE_TEST_SUPPORT_SUBPROCESS_H_

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace ruy_like {

inline std::string ReadFile(const std::string& name) {
  std::ifstream file(name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct ProgramResult {
  int exit_code;  // -1: it did not end by itself
  std::string out, err;
};

// `command` is for the shell: it may set environment variables.
inline ProgramResult RunProgram(const std::string& command) {
  // mkstemp replaces six X.
  std::string base = testing::TempDir() + "ruy_like_" + std::string(6, 'X');
  const int file = mkstemp(&base[0]);
  EXPECT_NE(file, -1) << base;
  const std::string out = base + ".out";
  const int status = std::system((command + " >" + out + " 2>" + base).c_str());
  ProgramResult result = {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                          ReadFile(out), ReadFile(base)};
  std::remove(out.c_str());
  std::remove(base.c_str());
  return result;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_SUBPROCESS_H_
