// One job at a time saves into a directory: its lock is a file there that says whose it is.
//
//   SAVE/megalith.lock    {"host": "node-a", "pid": 4711, "started": "2026-11-22 00:51:12 UTC", ...}
//
// Nobody needs it to read. The owner touches it every few seconds and removes it at its end. One that is still there
// belongs to nobody if the owner is dead. On the same host that is so if no process has that number and start time.
// Elsewhere it is so if the file has not been touched for half a minute, by the file system's clock. "Elsewhere"
// includes another container, and a host that hides other users' processes.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/dtype.h"

namespace megalith {

inline constexpr const char* kLockFile = "megalith.lock";

class SaveLock {
 public:
  struct Beat {
    double every = 5;  // seconds
    double dead = 30;  // seconds without a touch, after which the owner is dead
  };

  // Takes the lock of an existing directory. Error, with the owner's host, pid and start time, if another job holds it.
  // If the owner is not visible from here, this may take Beat::dead seconds to find out. `flag`: the flag that named
  // the directory, for messages.
  explicit SaveLock(std::string dir) : SaveLock(std::move(dir), Beat()) {}
  SaveLock(std::string dir, const Beat& beat, std::string flag = "--save");
  ~SaveLock();
  SaveLock(const SaveLock&) = delete;
  SaveLock& operator=(const SaveLock&) = delete;

  // Error if another job has taken it over, as happens to a process that was stopped for long.
  void check_not_taken_over() const;
  // Error unless this job may save there now: the directory exists, is the same one, and has this job's lock. If
  // somebody removed the lock, it is taken again. A directory that is gone, or not mounted, is not created again.
  void check_held() const;

 private:
  using Directory = std::pair<u64, u64>;  // device and number: identify the directory itself
  static std::optional<Directory> directory_at(const std::string& path);
  void take() const;
  bool is_own() const;
  void keep_beating();

  std::string dir_, flag_, path_, own_;  // own_: the file's text
  Beat beat_;
  std::optional<Directory> directory_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread heart_;
};

}  // namespace megalith
