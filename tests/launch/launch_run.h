// Runs `megalith launch` as a process, and finds the ranks that it started.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace megalith::test {

struct Ended {
  int code = -1;  // 128 + signal if a signal ended it
  std::string out, err;

  std::vector<std::string> lines_with(const std::string& part) const;  // of err
  std::string last_line() const;                                       // of err
};

class LaunchRun {
 public:
  // `words`: the arguments after `megalith launch`. The process runs in the test's folder.
  LaunchRun(const std::string& folder, const std::vector<std::string>& words,
            const std::map<std::string, std::string>& variables = {});
  ~LaunchRun();  // kills all remaining processes
  LaunchRun(const LaunchRun&) = delete;
  LaunchRun& operator=(const LaunchRun&) = delete;

  pid_t pid() const { return pid_; }
  std::vector<pid_t> ranks() const;  // running ranks
  // Waits until `count` ranks run and none of `former` is one of them. Empty if the launch ends before.
  std::vector<pid_t> wait_for_new_ranks(size_t count, const std::vector<pid_t>& former);
  std::vector<pid_t> ranks_by_age() const;  // oldest first; standby ranks are last
  std::string out() const;
  std::string err() const;
  bool wait_until(const std::function<bool()>& is_so, double seconds = 120);  // false if it exited or the time is over
  Ended end(double seconds = 240);

 private:
  bool reap(bool blocks = false);

  std::string base_;
  pid_t pid_ = -1;
  int code_ = -1;
};

// Processes that have this text in their command line.
std::vector<pid_t> processes_of(const std::string& text);

std::string text_of_file(const std::string& path);

}  // namespace megalith::test
