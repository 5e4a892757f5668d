#include "launch_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "base/process_start.h"
#include "tests/places.h"

namespace megalith::test {

namespace fs = std::filesystem;

namespace {

struct ProcessState {
  char state = '?';
  pid_t parent = 0;
};

// The command line of a process. Empty if the process has exited.
ProcessState state_of(const std::string& pid) {
  const std::string stat = text_of_file("/proc/" + pid + "/stat");
  const size_t name_end = stat.rfind(") ");
  ProcessState s;
  if (name_end != std::string::npos) std::istringstream(stat.substr(name_end + 2)) >> s.state >> s.parent;
  return s;
}

template <class F>
std::vector<pid_t> processes_that(F&& fit) {
  for (;;) {
    std::vector<pid_t> found;
    std::error_code error;
    for (fs::directory_iterator it("/proc", error), last; !error && it != last; it.increment(error)) {
      const std::string name = it->path().filename().string();
      pid_t pid = 0;
      const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
      if (problem == std::errc() && end == name.data() + name.size() && fit(name)) found.push_back(pid);
    }
    if (!error) return found;  // otherwise a process ended during the read, and the list is short
  }
}

bool is_running(const ProcessState& s) { return s.parent != 0 && s.state != 'Z' && s.state != 'X'; }

}  // namespace

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // no exception if a process in /proc exits during the read
  return text.str();
}

std::vector<pid_t> processes_of(const std::string& text) {
  return processes_that([&](const std::string& pid) {
    return is_running(state_of(pid)) && text_of_file("/proc/" + pid + "/cmdline").find(text) != std::string::npos;
  });
}

std::vector<std::string> Ended::lines_with(const std::string& part) const {
  std::vector<std::string> found;
  std::istringstream in(err);
  for (std::string line; std::getline(in, line);)
    if (line.find(part) != std::string::npos) found.push_back(line);
  return found;
}

std::string Ended::last_line() const {
  const std::vector<std::string> all = lines_with("");
  return all.empty() ? "" : all.back();
}

LaunchRun::LaunchRun(const std::string& folder, const std::vector<std::string>& words,
                     const std::map<std::string, std::string>& variables) {
  static int number = 0;
  base_ = folder + "/launch-" + std::to_string(number++);
  pid_ = fork();
  check(pid_ >= 0, "cannot fork");
  if (pid_ > 0) return;
  for (const auto& [suffix, to] : {std::pair{".out", STDOUT_FILENO}, std::pair{".err", STDERR_FILENO}})
    dup2(open((base_ + suffix).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), to);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const std::string program = std::string(kBinaryDir) + "/bin/megalith";
  std::vector<char*> argv{const_cast<char*>(program.c_str()), const_cast<char*>("launch")};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

LaunchRun::~LaunchRun() {
  if (reap()) return;
  kill(pid_, SIGKILL);
  reap(true);
}

bool LaunchRun::reap(bool blocks) {
  int status = 0;
  if (code_ < 0 && waitpid(pid_, &status, blocks ? 0 : WNOHANG) == pid_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_ >= 0;
}

std::vector<pid_t> LaunchRun::ranks() const {
  return processes_that([&](const std::string& pid) {
    const ProcessState s = state_of(pid);
    return is_running(s) && s.parent == pid_;
  });
}

// The list of processes is not read at one instant. It may have former ranks that end and ranks that begin.
std::vector<pid_t> LaunchRun::wait_for_new_ranks(size_t count, const std::vector<pid_t>& former) {
  std::vector<pid_t> found;
  const bool are_there = wait_until([&] {
    found = ranks();
    return found.size() == count && std::ranges::find_first_of(found, former) == found.end();
  });
  return are_there ? found : std::vector<pid_t>();
}

// Orders ranks by start time, because process ids wrap around.
std::vector<pid_t> LaunchRun::ranks_by_age() const {
  std::vector<std::pair<i64, pid_t>> all;
  for (const pid_t pid : ranks()) all.emplace_back(process_start(pid).value_or(0), pid);
  std::ranges::sort(all);
  std::vector<pid_t> pids;
  for (const auto& [_, pid] : all) pids.push_back(pid);
  return pids;
}

std::string LaunchRun::out() const { return text_of_file(base_ + ".out"); }
std::string LaunchRun::err() const { return text_of_file(base_ + ".err"); }

bool LaunchRun::wait_until(const std::function<bool()>& is_so, double seconds) {
  const auto began = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() < seconds) {
    if (is_so()) return true;
    if (reap()) return is_so();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

Ended LaunchRun::end(double seconds) {
  if (!wait_until([&] { return reap(); }, seconds)) {
    kill(pid_, SIGKILL);
    reap(true);
  }
  return {code_, text_of_file(base_ + ".out"), err()};
}

}  // namespace megalith::test
