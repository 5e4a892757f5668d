#include "ckpt/native/save_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "base/dtype.h"
#include "base/log.h"
#include "base/parse_json.h"
#include "base/process_start.h"
#include "ckpt/tensors/files.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// "" if it cannot be read: of a process, it has just ended.
std::string text_of(const std::string& path) {
  const std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The scope of process numbers: this boot of this machine, and the container.
std::string home_of_processes() {
  std::error_code error;
  std::string boot = text_of("/proc/sys/kernel/random/boot_id");
  boot.resize(std::min(boot.size(), boot.find('\n')));
  return boot + " " + fs::read_symlink("/proc/self/ns/pid", error).string();
}

std::string start_text(i64 ticks) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr) - std::time_t(process_age(ticks))));
}

// Of a directory: its copy has another.
u64 inode_of(const std::string& dir) {
  struct stat s {};
  return ::stat(dir.c_str(), &s) == 0 ? u64(s.st_ino) : 0;
}

std::string own_text(const std::string& dir) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const i64 ticks = process_start(::getpid()).value_or(0);
  return ordered_json{{"host", host.data()},
                      {"pid", ::getpid()},
                      {"started", start_text(ticks)},
                      {"start_ticks", ticks},
                      {"processes", home_of_processes()},
                      {"directory", inode_of(dir)}}
             .dump() +
         "\n";
}

struct Owner {
  std::string host = "an unknown host", started = "an unknown time", processes;
  i64 pid = 0, ticks = 0;
  u64 directory = 0;  // 0: it does not say

  static Owner from_text(const std::string& text) {
    Owner o;
    const auto j = parse_json<ordered_json>(text);
    if (!j.is_object()) return o;
    try {
      o = {j.at("host"), j.at("started"),     j.at("processes"),
           j.at("pid"),  j.at("start_ticks"), j.value("directory", u64{0})};
    } catch (const ordered_json::exception&) {
    }
    return o;
  }
  std::string text() const { return fmt::format("the job with pid {} on {}, started {}", pid, host, started); }
};

double seconds_of(const timespec& t) { return double(t.tv_sec) + 1e-9 * double(t.tv_nsec); }

// The file's modification time, by the file system's clock. Reopened each time, because network file systems cache
// attributes until then.
double touched_at(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  struct stat s {};
  ::fstat(fd, &s);
  ::close(fd);
  return seconds_of(s.st_mtim);
}

// The file system's clock, from a new file.
double clock_of(const std::string& dir) {
  const std::string path = fmt::format("{}/{}.clock-{}", dir, kLockFile, ::getpid());
  write_text(path, "", {});
  const double now = touched_at(path);
  ::unlink(path.c_str());
  return now;
}

// A time to come, which a clock that was set back leaves, counts as now.
bool beats(const std::string& dir, const std::string& path, const SaveLock::Beat& beat) {
  const double before = touched_at(path), since = std::min(before, clock_of(dir));
  bool has_told = false;
  while (clock_of(dir) - since <= beat.dead) {
    if (touched_at(path) != before) return true;
    if (!std::exchange(has_told, true))
      log::info("{} is of a process that can't be seen here: waiting for {} s at most to see whether it is alive", path,
                beat.dead);
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.5, beat.dead / 10)));
  }
  return touched_at(path) != before;
}

bool is_same_file(int fd, const std::string& path) {
  struct stat a {
  }, b{};
  return ::fstat(fd, &a) == 0 && ::stat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The lock file, held by flock between reading and writing it, if the file system supports flock.
class OpenLock {
 public:
  OpenLock(const std::string& path, std::string flag) : path_(path), flag_(std::move(flag)) {
    do {
      if (fd_ >= 0) ::close(fd_);
      fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
      check(fd_ >= 0 || errno != ELOOP, "{} is a link: remove it, or choose another {} directory", path, flag_);
      check(fd_ >= 0, "cannot make {}: {}: choose a {} directory that can be written", path, std::strerror(errno),
            flag_);
      struct stat s {};
      check(::fstat(fd_, &s) == 0 && S_ISREG(s.st_mode), "{} is not a file: remove it, or choose another {} directory",
            path, flag_);
      while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR) continue;
    } while (!is_same_file(fd_, path));  // its owner removed it meanwhile
  }
  ~OpenLock() { ::close(fd_); }
  OpenLock(const OpenLock&) = delete;
  OpenLock& operator=(const OpenLock&) = delete;

  void write(const std::string& text) const {
    if (::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, text.data(), text.size(), 0) == ssize_t(text.size())) return;
    const int error = errno;
    ::unlink(path_.c_str());
    fail("cannot write {}: {}: make room, or choose another {} directory", path_, std::strerror(error), flag_);
  }

 private:
  std::string path_, flag_;
  int fd_ = -1;
};

}  // namespace

SaveLock::SaveLock(std::string dir, const Beat& beat, std::string flag)
    : dir_(std::move(dir)), flag_(std::move(flag)), path_(dir_ + "/" + kLockFile), own_(own_text(dir_)), beat_(beat) {
  take();
  directory_ = directory_at(dir_);
  heart_ = std::thread([this] { keep_beating(); });
}

SaveLock::~SaveLock() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_all();
  heart_.join();
  if (is_own()) ::unlink(path_.c_str());
}

void SaveLock::take() const {
  const OpenLock lock(path_, flag_);
  const std::string text = text_of(path_);
  bool is_copy = false;
  if (!text.empty()) {
    const Owner owner = Owner::from_text(text);
    const bool is_near = owner.processes == home_of_processes();
    const std::optional<i64> start = is_near ? process_start(owner.pid) : std::nullopt;
    is_copy = is_near && owner.directory != 0 && owner.directory != inode_of(dir_);
    const bool is_alive = !is_copy && (start ? owner.ticks != 0 && *start == owner.ticks : beats(dir_, path_, beat_));
    check(!is_alive, "{} {}: {} is saving there: wait for it, end it, or choose another directory", flag_, dir_,
          owner.text());
    log::warn("[save] {}: taking over from {}, which {}", dir_, owner.text(),
              is_copy ? "saves in the directory that this one is a copy of" : "is dead");
  }
  // In a copy made of hard links the file is also the other directory's lock, which must stay.
  is_copy ? replace_text(path_, own_, {}) : lock.write(own_);
}

bool SaveLock::is_own() const { return text_of(path_) == own_; }

std::optional<SaveLock::Directory> SaveLock::directory_at(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 ? std::optional(Directory(s.st_dev, s.st_ino)) : std::nullopt;
}

// A lock in another directory of the same name does not count.
void SaveLock::check_not_taken_over() const {
  const std::string text = text_of(path_);
  check(text.empty() || text == own_ || directory_at(dir_) != directory_,
        "{} {}: {} has taken over from this one, which was suspended for long: this one ends", flag_, dir_,
        Owner::from_text(text).text());
}

// A directory with this job's lock is the right one. Its file system may have another device number after a new mount.
void SaveLock::check_held() const {
  if (is_own()) return;
  check(
      directory_at(dir_) == directory_,
      "{} {} is not the directory that it was when the run began: mount it again, or move it back, and saves continue",
      flag_, dir_);
  check_not_taken_over();
  take();
}

void SaveLock::keep_beating() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> every(beat_.every);
  while (!ended_.wait_for(lock, every, [this] { return has_ended_; }))
    if (is_own()) ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
}

}  // namespace megalith
