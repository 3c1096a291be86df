#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "ruy_like/os/processors.h"

namespace ruy_like::os {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// A hierarchy of groups that limits processor time: where its root is mounted,
// and which group this process is in.
struct Hierarchy {
  bool is_version_2;
  std::string mount_point;
  std::string mounted;  // the group that is seen at mount_point
  std::string group;    // this process's
};

bool HasWord(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

// The paths of mountinfo write blanks and backslashes as \ and three octal
// digits.
std::string Unescape(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      result += static_cast<char>(
          std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

// "36 35 98:0 /root /mount/point rw,noatime master:1 - cgroup2 cgroup rw"
bool ParseMount(const std::string& line, Hierarchy* hierarchy) {
  std::istringstream fields(line);
  std::string skipped, mounted, mount_point, type, options;
  fields >> skipped >> skipped >> skipped >> mounted >> mount_point;
  while (fields >> skipped && skipped != "-") {
  }
  if (!(fields >> type >> skipped >> options)) return false;
  hierarchy->is_version_2 = type == "cgroup2";
  hierarchy->mounted = Unescape(mounted);
  hierarchy->mount_point = Unescape(mount_point);
  return type == "cgroup2" || (type == "cgroup" && HasWord(options, "cpu"));
}

// This process's group, from "4:cpu,cpuacct:/group" or "0::/group".
std::string FindGroup(const std::string& root, bool version_2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version_2 ? controllers.empty() : HasWord(controllers, "cpu")) {
      return line.substr(second + 1);
    }
  }
  return "";
}

std::vector<Hierarchy> FindHierarchies(const std::string& root) {
  std::vector<Hierarchy> result;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    Hierarchy hierarchy;
    if (!ParseMount(line, &hierarchy)) continue;
    hierarchy.group = FindGroup(root, hierarchy.is_version_2);
    if (!hierarchy.group.empty()) result.push_back(hierarchy);
  }
  return result;
}

// quota / period; no limit unless both are positive ("max" and -1 are not).
double Ratio(std::istream& quota_file, std::istream& period_file) {
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return kNoLimit;
  return quota > 0 && period > 0 ? quota / period : kNoLimit;
}

double QuotaOfGroup(const std::string& directory, bool version_2) {
  if (version_2) {
    std::ifstream file(directory + "/cpu.max");
    return Ratio(file, file);
  }
  std::ifstream quota(directory + "/cpu.cfs_quota_us");
  std::ifstream period(directory + "/cpu.cfs_period_us");
  return Ratio(quota, period);
}

}  // namespace

double CgroupCpuQuota(const std::string& root) {
  double quota = kNoLimit;
  for (const Hierarchy& hierarchy : FindHierarchies(root)) {
    // The group relative to the one that is mounted. One that lies outside of
    // it, as seen from within another namespace, is taken for that one.
    std::string group = hierarchy.group;
    if (hierarchy.mounted != "/") {
      const std::size_t length = hierarchy.mounted.size();
      const bool is_inside = group.compare(0, length, hierarchy.mounted) == 0 &&
                             (group.size() == length || group[length] == '/');
      group = is_inside ? group.substr(length) : "";
    }
    if (group == "/" || group.find("..") != std::string::npos) group.clear();
    // Upwards, to the mounted one: any of them may be the strictest.
    const std::string top = root + hierarchy.mount_point;
    for (;;) {
      quota =
          std::min(quota, QuotaOfGroup(top + group, hierarchy.is_version_2));
      if (group.empty()) break;
      group.resize(std::min(group.size(), group.rfind('/')));
    }
  }
  return quota;
}

}  // namespace ruy_like::os
