#include "ckpt/native/save_lock.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "ckpt/native/checkpoint.h"
#include "ckpt/native/checkpoint_layout.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

using nlohmann::json;

constexpr SaveLock::Beat kFast{.every = 0.05, .dead = 0.4};

std::string warning_of(const std::function<void()>& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

// Another process that takes the lock and is killed.
pid_t die_with_lock(const std::string& dir) {
  const pid_t child = ::fork();
  if (child == 0) {
    new SaveLock(dir);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return child;
}

TEST(SaveLock, refuses_a_second_job_with_the_owner) {
  TempDir dir;
  const SaveLock lock(dir.path());
  const json owner = json::parse(slurp(dir / kLockFile));
  EXPECT_EQ(owner["pid"], ::getpid());
  const std::string expected = fmt::format("the job with pid {} on {}, started {} is saving there", ::getpid(),
                                           owner["host"].get<std::string>(), owner["started"].get<std::string>());
  expect_error([&] { const SaveLock second(dir.path()); }, expected);
  lock.check_held();
}

TEST(SaveLock, says_when_the_process_was_started) {
  TempDir dir;
  const SaveLock lock(dir.path());
  std::tm started{};
  ASSERT_NE(::strptime(std::string(json::parse(slurp(dir / kLockFile))["started"]).c_str(), "%Y-%m-%d %H:%M:%S UTC",
                       &started),
            nullptr);
  constexpr double kMilliseconds = 1e3, kToFirstTest = 30;  // the tests begin seconds after their process
  const double tests_began = double(testing::UnitTest::GetInstance()->start_timestamp()) / kMilliseconds;
  EXPECT_NEAR(double(::timegm(&started)), tests_began, kToFirstTest);
}

TEST(SaveLock, is_removed_at_the_end_and_blocks_no_reader) {
  TempDir dir;
  const float x = 1;
  {
    const SaveLock lock(dir.path());
    save_checkpoint(dir.path(), {.iteration = 3}, std::vector<SaveTensor>{{"x", {1}, DType::f32, &x}});
    EXPECT_EQ(open_checkpoint(dir.path()).manifest().iteration, 3);
    EXPECT_EQ(list_checkpoints(dir.path()).size(), 1u);
  }
  EXPECT_FALSE(fs::exists(dir / kLockFile));
  const SaveLock again(dir.path());
}

TEST(SaveLock, of_a_dead_process_is_taken_over_at_once) {
  TempDir dir;
  const pid_t dead = die_with_lock(dir.path());
  ASSERT_TRUE(fs::exists(dir / kLockFile));
  const std::string said = warning_of([&] { const SaveLock lock(dir.path()); });
  EXPECT_NE(said.find(fmt::format("taking over from the job with pid {} on", dead)), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
}

// The process id now belongs to another process.
TEST(SaveLock, of_a_process_with_another_start_time_is_taken_over) {
  TempDir dir;
  die_with_lock(dir.path());
  json owner = json::parse(slurp(dir / kLockFile));
  owner["pid"] = ::getppid();
  spit(dir / kLockFile, owner.dump());
  EXPECT_NE(warning_of([&] { const SaveLock lock(dir.path()); }).find("taking over"), std::string::npos);
}

// A lock file that was copied with a directory while a job saved there.
TEST(SaveLock, of_another_directory_is_taken_over_at_once) {
  TempDir dir;
  fs::create_directory(dir / "copy");
  const SaveLock lock(dir.path());
  fs::copy(dir / kLockFile, dir / "copy");
  const std::string said = warning_of([&] { const SaveLock other(dir / "copy"); });
  EXPECT_NE(said.find("which saves in the directory that this one is a copy of"), std::string::npos) << said;
  expect_error([&] { const SaveLock second(dir.path()); }, "is saving there");
}

TEST(SaveLock, that_a_copy_of_hard_links_shares_stays_the_other_directorys) {
  TempDir dir;
  fs::create_directory(dir / "copy");
  const SaveLock lock(dir.path());
  fs::create_hard_link(dir / kLockFile, dir / "copy/megalith.lock");
  const std::string before = slurp(dir / kLockFile);
  warning_of([&] {
    const SaveLock other(dir / "copy");
    EXPECT_EQ(slurp(dir / kLockFile), before);
    expect_error([&] { const SaveLock second(dir / "copy"); }, "is saving there");
  });
  lock.check_held();
  EXPECT_EQ(names_in(dir / "copy"), std::set<std::string>());
}

TEST(SaveLock, follows_no_link) {
  TempDir dir;
  spit(dir / "file", "kept");
  fs::create_symlink(dir / "file", dir / kLockFile);
  expect_error([&] { const SaveLock lock(dir.path()); }, dir / kLockFile + " is a link: remove it");
  EXPECT_EQ(slurp(dir / "file"), "kept");
}

TEST(SaveLock, of_another_host_holds_as_long_as_it_beats) {
  TempDir dir;
  const std::string path = dir / kLockFile;
  const json owner = {
      {"host", "far"}, {"pid", 7}, {"started", "2026-01-02 03:04:05 UTC"}, {"start_ticks", 9}, {"processes", "there"}};
  spit(path, owner.dump());
  std::atomic<bool> is_over = false;
  std::thread heart([&] {
    while (!is_over) {
      ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  expect_error([&] { const SaveLock lock(dir.path(), {.every = 5, .dead = 5}); },
               "the job with pid 7 on far, started 2026-01-02 03:04:05 UTC");
  is_over = true;
  heart.join();
  EXPECT_NE(warning_of([&] { const SaveLock lock(dir.path(), kFast); }).find("pid 7 on far"), std::string::npos);
  EXPECT_FALSE(fs::exists(path));
}

// As on a host that hides other processes (hidepid).
TEST(SaveLock, of_a_live_process_that_is_hidden_holds) {
  TempDir dir;
  const SaveLock lock(dir.path(), kFast);
  constexpr int kNotPermitted = 77;
  const std::string hidden = fmt::format("/proc/{}", ::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(::getuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", hidden.c_str(), "tmpfs", 0, nullptr) != 0)
      ::_exit(kNotPermitted);
    try {
      const SaveLock second(dir.path(), kFast);
      ::_exit(1);
    } catch (const Error& e) {
      ::_exit(std::string(e.what()).find("is saving there") == std::string::npos ? 2 : 0);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPermitted) GTEST_SKIP() << "this user may not hide a process from another";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SaveLock, that_cannot_be_read_is_taken_over_when_it_does_not_beat) {
  TempDir dir;
  for (const char* text : {"{\"host\":", "x", "[]", "{\"host\": 3}"}) {
    spit(dir / kLockFile, text);
    EXPECT_NE(warning_of([&] { const SaveLock lock(dir.path(), kFast); }).find("taking over"), std::string::npos);
  }
}

// As after a clock was set back.
TEST(SaveLock, from_a_time_to_come_is_taken_over_when_it_does_not_beat) {
  TempDir dir;
  spit(dir / kLockFile, "x");
  fs::last_write_time(dir / kLockFile, fs::file_time_type::clock::now() + std::chrono::hours(2));
  const std::string told = warning_of([&] { const SaveLock lock(dir.path(), kFast); });
  EXPECT_NE(told.find("taking over"), std::string::npos) << told;
}

TEST(SaveLock, refuses_what_is_no_file) {
  TempDir dir;
  ASSERT_EQ(::mkfifo((dir / kLockFile).c_str(), 0600), 0);
  expect_error([&] { const SaveLock lock(dir.path(), kFast); }, "megalith.lock is not a file: remove it");
}

TEST(SaveLock, beats) {
  TempDir dir;
  const SaveLock lock(dir.path(), kFast);
  const auto before = fs::last_write_time(dir / kLockFile);
  for (int i = 0; i < 1000 && fs::last_write_time(dir / kLockFile) == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(fs::last_write_time(dir / kLockFile), before);
}

// A process that was stopped for so long that another one has taken its lock must not write any more.
TEST(SaveLock, that_was_lost_is_noticed) {
  TempDir dir;
  const SaveLock lock(dir.path());
  fs::remove(dir / kLockFile);
  lock.check_held();  // the lock file was removed: it is taken again
  EXPECT_TRUE(fs::exists(dir / kLockFile));
  const std::string own = slurp(dir / kLockFile);
  spit(dir / kLockFile, "");
  lock.check_held();  // without owner, as after a crash of the file server
  EXPECT_EQ(slurp(dir / kLockFile), own);
  json owner = json::parse(own);
  owner["host"] = "far";
  spit(dir / kLockFile, owner.dump());
  expect_error([&] { lock.check_held(); }, "has taken over from this one");
  expect_error([&] { lock.check_not_taken_over(); }, "has taken over from this one");
}

// If a disk is unmounted, the run continues. The directory below the mount point gets no lock.
TEST(SaveLock, is_of_the_directory_it_was_taken_in_alone) {
  TempDir dir;
  const std::string a = dir / "a", away = dir / "away";
  const std::string gone = a + " is not the directory that it was when the run began: mount it again";
  fs::create_directory(a);
  const SaveLock lock(a);
  fs::rename(a, away);
  lock.check_not_taken_over();
  expect_error([&] { lock.check_held(); }, gone);
  EXPECT_FALSE(fs::exists(a));
  fs::create_directory(a);
  expect_error([&] { lock.check_held(); }, gone);
  EXPECT_TRUE(fs::is_empty(a));
  spit(a + "/" + kLockFile, R"({"host": "far"})");  // of another job, which has taken over nothing
  lock.check_not_taken_over();
  expect_error([&] { lock.check_held(); }, gone);
  fs::remove_all(a);
  fs::rename(away, a);
  lock.check_held();
  fs::remove(a + "/" + kLockFile);
  lock.check_held();
  EXPECT_TRUE(fs::exists(a + "/" + kLockFile));
}

TEST(SaveLock, is_one_jobs_of_many_that_try_at_once) {
  for (int round = 0; round < 20; ++round) {
    TempDir dir;
    if (round % 2) die_with_lock(dir.path());
    int told[2], held[2];  // pipes: messages of the children, and what the owner waits for
    ASSERT_EQ(::pipe(told), 0);
    ASSERT_EQ(::pipe(held), 0);
    constexpr int kJobs = 8;
    for (int i = 0; i < kJobs; ++i) {
      if (::fork() != 0) continue;
      ::close(held[1]);
      char word = 'r';
      try {
        new SaveLock(dir.path());
        word = 'o';
      } catch (const Error&) {
      }
      if (::write(told[1], &word, 1) != 1) ::_exit(1);
      if (word == 'o' && ::read(held[0], &word, 1) != 0) ::_exit(1);
      ::_exit(0);
    }
    int owners = 0;
    for (int i = 0; i < kJobs; ++i) {
      char word = 0;
      ASSERT_EQ(::read(told[0], &word, 1), 1);
      owners += word == 'o';
    }
    for (const int fd : {told[0], told[1], held[0], held[1]}) ::close(fd);
    for (int i = 0; i < kJobs; ++i) {
      int status = 0;
      ::waitpid(-1, &status, 0);
      EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(owners, 1) << "round " << round;
  }
}

// Retention keeps a checkpoint that has a reader.
TEST(ReadMark, keeps_a_checkpoint_that_is_being_read) {
  TempDir dir;
  const float x = 1;
  const std::vector<SaveTensor> tensors = {{"x", {1}, DType::f32, &x}};
  const auto save = [&](i64 iteration) {
    save_checkpoint(dir.path(), {.iteration = iteration}, tensors, {.keep_last = 1});
  };
  save(1);
  {
    const Checkpoint reader = open_checkpoint(dir.path());
    save(2);
    EXPECT_TRUE(fs::exists(dir / "iter_0000001"));
    const Checkpoint second = open_checkpoint(dir.path(), {.iteration = 1});
  }
  save(3);
  EXPECT_FALSE(fs::exists(dir / "iter_0000001"));
  EXPECT_FALSE(fs::exists(dir / "iter_0000002"));
}

}  // namespace
}  // namespace megalith
