// Tests CgroupCpuQuota of ruy_like/os/processors.h on forged files.
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "ruy_like/os/processors.h"

namespace ruy_like::os {
namespace {

namespace fs = std::filesystem;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

constexpr char kMountVersion2[] =
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 "
    "rw,nsdelegate\n";
constexpr char kMountsVersion1[] =
    "25 21 0:22 / /sys/fs/cgroup ro,nosuid shared:7 - tmpfs tmpfs ro\n"
    "33 25 0:28 / /sys/fs/cgroup/cpuset rw shared:14 - cgroup cgroup "
    "rw,cpuset\n"
    "34 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:15 - cgroup cgroup "
    "rw,cpu,cpuacct\n";

class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "/cgroup_test." +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) {
    const fs::path path = root_ + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  // A machine of version 2 whose process is in `group`.
  void WriteVersion2(const std::string& group) {
    Write("/proc/self/mountinfo", kMountVersion2);
    Write("/proc/self/cgroup", "0::" + group + "\n");
  }

  std::string root_;
};

TEST_F(CgroupTest, NoFilesAreNoLimit) {
  EXPECT_EQ(CgroupCpuQuota(root_), kNoLimit);
}

TEST_F(CgroupTest, ContainerOfVersion2) {
  WriteVersion2("/");
  Write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 1.5);
}

TEST_F(CgroupTest, MaxIsNoLimit) {
  WriteVersion2("/");
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), kNoLimit);
}

TEST_F(CgroupTest, TheStrictestGroupAboveCounts) {
  WriteVersion2("/a.slice/b.slice/c.scope");
  Write("/sys/fs/cgroup/a.slice/cpu.max", "300000 100000\n");
  Write("/sys/fs/cgroup/a.slice/b.slice/cpu.max", "200000 100000\n");
  Write("/sys/fs/cgroup/a.slice/b.slice/c.scope/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 2.0);
  Write("/sys/fs/cgroup/a.slice/b.slice/c.scope/cpu.max", "50000 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 0.5);
  // Another one's does not.
  Write("/sys/fs/cgroup/d.slice/cpu.max", "10000 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 0.5);
}

TEST_F(CgroupTest, Version1) {
  Write("/proc/self/mountinfo", kMountsVersion1);
  Write("/proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/user\n1:name=x:/\n");
  const std::string group = "/sys/fs/cgroup/cpu,cpuacct/user";
  Write(group + "/cpu.cfs_quota_us", "-1\n");
  Write(group + "/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), kNoLimit);
  Write(group + "/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 4.0);
}

// Seen from a container: the group is named as the host names it, and mounted
// as the root.
TEST_F(CgroupTest, Version1InAContainer) {
  Write("/proc/self/mountinfo",
        "34 25 0:29 /docker/12\\0403 /sys/fs/cgroup/cpu rw - cgroup cgroup "
        "rw,cpu\n");
  Write("/proc/self/cgroup", "4:cpu:/docker/12 3/inner\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 3.0);
  Write("/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "100000\n");
  Write("/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 2.0);
}

TEST_F(CgroupTest, GroupsOutsideOfTheMountAreTakenForIt) {
  Write("/proc/self/mountinfo",
        "34 25 0:29 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("/sys/fs/cgroup/cpu.max", "100000 50000\n");
  for (const char* group : {"/docker/12", "/../other", "/"}) {
    Write("/proc/self/cgroup", std::string("0::") + group + "\n");
    EXPECT_EQ(CgroupCpuQuota(root_), 2.0) << group;
  }
}

TEST_F(CgroupTest, DamagedFilesAreNoLimit) {
  WriteVersion2("/");
  for (const char* text : {"", "\n", "x y\n", "100000\n", "0 0\n", "100000 0\n",
                           "-5 100000\n", "nan 100000\n", "100000 max\n"}) {
    Write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(CgroupCpuQuota(root_), kNoLimit) << "'" << text << "'";
  }
  Write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  for (const char* text : {"", "::", ":\n", "0:\n", "no colons\n", "0::\n"}) {
    Write("/proc/self/cgroup", text);
    EXPECT_EQ(CgroupCpuQuota(root_), kNoLimit) << "'" << text << "'";
  }
  WriteVersion2("/");
  for (const char* text :
       {"", "-\n", " - cgroup2\n", "1 2 3 4 5 6 7 8\n", "1 - cgroup2 x y\n"}) {
    Write("/proc/self/mountinfo", text);
    EXPECT_EQ(CgroupCpuQuota(root_), kNoLimit) << "'" << text << "'";
  }
}

TEST_F(CgroupTest, ThisMachineHasAQuotaOrNone) {
  EXPECT_GT(CgroupCpuQuota(""), 0.0);
}

}  // namespace
}  // namespace ruy_like::os
