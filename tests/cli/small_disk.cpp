#include "small_disk.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace megalith::test {

bool on_small_disk(const std::string& dir, i64 bytes, const std::function<void()>& f) {
  constexpr int kNotPermitted = 77;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const auto own = [](const char* file, const std::string& text) {
      const int fd = open(file, O_WRONLY);
      if (fd < 0 || write(fd, text.data(), text.size()) < 0) _exit(kNotPermitted);
      close(fd);
    };
    const uid_t user = getuid();
    const gid_t group = getgid();
    if (unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) _exit(kNotPermitted);
    if (user != 0) {
      own("/proc/self/setgroups", "deny");
      own("/proc/self/uid_map", fmt::format("0 {} 1", user)), own("/proc/self/gid_map", fmt::format("0 {} 1", group));
    }
    const std::string size = fmt::format("size={}", bytes);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", dir.c_str(), "tmpfs", 0, size.c_str()) != 0)
      _exit(kNotPermitted);
    // Several processes wait for each other in each step. On a busy machine that takes long.
    setenv("OMP_NUM_THREADS", "1", 1);
    f();
    std::fflush(stdout);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotPermitted) return false;
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see above";
  return true;
}

}  // namespace megalith::test
