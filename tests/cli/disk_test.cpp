// Tests of disks that fill or become read-only during a save. The disk is a small file system in memory that only this
// test sees.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "small_disk.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class Disk : public Workshop {
 protected:
  std::string run(int iterations) {
    return pretrain(
        fmt::format("--train-iters {} --lr-decay-iters 9 --save-interval 2 --log-interval 1 --save {} "
                    "--load {} --metrics-file {}",
                    iterations, *this / "disk/ck", *this / "disk/ck", *this / "m.jsonl"));
  }
  // Expects exactly one line for each failed save.
  static void expect_warnings(const Ran& ran, int saves, const std::string& reason) {
    int lines = 0;
    for (std::size_t at = 0; (at = ran.err.find("was not saved, training continues: ", at)) != std::string::npos;
         ++at) {
      ++lines;
      EXPECT_NE(ran.err.substr(at, ran.err.find('\n', at) - at).find(reason), std::string::npos) << ran.err;
    }
    EXPECT_EQ(lines, saves) << ran.err;
  }
  std::vector<std::string> held() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(*this / "disk/ck"))
      if (const std::string name = entry.path().filename().string(); !name.starts_with("arguments_"))
        names.push_back(name);
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(Disk, ThatFillsCostsNothingButTheNewCheckpoint) {
  data();
  fs::create_directories(*this / "disk");
  const bool ran_there = on_small_disk(*this / "disk", 16 << 20, [&] {
    must(run(2));
    const auto before = held();
    for (const int left : {8192, 60000, 200000}) {  // a checkpoint is larger
      struct statvfs room {};
      ASSERT_EQ(statvfs((*this / "disk").c_str(), &room), 0);
      spit(*this / "disk/filler", std::string(room.f_bavail * room.f_bsize - std::size_t(left), 'x'));
      const Ran ran = megalith(run(8));
      EXPECT_EQ(ran.exit_code, 1) << "its last state is lost\n" << ran.err;
      EXPECT_NE(ran.out.find("iteration        8/"), std::string::npos) << "training goes on\n" << ran.out;
      expect_warnings(ran, 4, "No space left on device");  // the run tries again at its end
      EXPECT_EQ(held(), before) << left << " bytes left";
      fs::remove(*this / "disk/filler");
    }
    struct statvfs room {};
    ASSERT_EQ(statvfs((*this / "disk").c_str(), &room), 0);
    spit(*this / "disk/filler", std::string(room.f_bavail * room.f_bsize, 'x'));
    expect_refused(run(8), "No space left on device: make room, or choose another --save directory");
    EXPECT_EQ(held(), before);
    fs::remove(*this / "disk/filler");
    const Ran after = must(run(8));
    EXPECT_NE(after.out.find("at iteration 2"), std::string::npos) << after.out;
    EXPECT_TRUE(fs::exists(*this / "disk/ck/iter_0000008"));
  });
  if (!ran_there) GTEST_SKIP() << "this user may not mount a file system of its own";
}

// The run writes to a pipe, so it is at most a page of lines ahead of the reader.
class Pipe {
 public:
  explicit Pipe(const std::string& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    fd_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(fcntl(fd_, F_SETPIPE_SZ, 4096), 0);
  }
  ~Pipe() { close(fd_); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int lines() const { return int(std::ranges::count(text_, '\n')); }
  void read_one() {  // one line, if there is one
    char c = 0;
    while (read(fd_, &c, 1) == 1) {
      text_ += c;
      if (c == '\n') return;
    }
  }

 private:
  int fd_ = -1;
  std::string text_;
};

TEST_F(Disk, ThatBecomesReadOnlyCostsNothingButTheNewCheckpoint) {
  data();
  const std::string disk = *this / "disk";
  fs::create_directories(disk);
  const bool ran_there = on_small_disk(disk, 16 << 20, [&] {
    must(run(2));
    constexpr int kSteps = 40;  // more lines than the pipe holds
    // The run stops while nobody reads its metrics. At that moment it has no file open for writing on that disk.
    Pipe metrics(*this / "metrics");
    std::string saved_then;
    RunLimits limits;
    limits.kill = [&] {
      if (metrics.lines() < 4 || !saved_then.empty()) {
        metrics.read_one();
      } else if (mount("none", disk.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0) {
        saved_then = slurp(disk + "/ck/latest_checkpointed_iteration.txt");
      }
      return false;
    };
    const std::string flags = " --most-recent-k 2 --metrics-file ";
    const Ran ran = megalith(run(kSteps) + flags + *this / "metrics", limits);
    EXPECT_EQ(ran.exit_code, 1) << ran.err;
    EXPECT_NE(ran.out.find("iteration       40/"), std::string::npos) << ran.out;
    EXPECT_NE(ran.err.find("was not saved, training continues: "), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("Read-only file system"), std::string::npos) << ran.err;
    const int saved = saved_then.empty() ? 0 : std::stoi(saved_then);
    EXPECT_GE(saved, 4) << "steps 3 to 6 were told before";
    ASSERT_EQ(mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, nullptr), 0);
    const Ran after = must(run(kSteps) + flags + *this / "after.jsonl");
    EXPECT_EQ(last_number(after.out, "[ t 1/1, p 1/1 ] at iteration"), saved);
  });
  if (!ran_there) GTEST_SKIP() << "this user may not mount a file system of its own";
}

}  // namespace
}  // namespace megalith::test
