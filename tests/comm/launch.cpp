#include "launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "comm/socket.h"
#include "tests/places.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Process {
  std::vector<std::string> words;
  Variables variables;
};

pid_t start(const Process& p, const fs::path& base) {
  const pid_t child = fork();
  check(child >= 0, "cannot fork");
  if (child > 0) return child;
  for (const auto& [suffix, to] : {std::pair{".out", STDOUT_FILENO}, std::pair{".err", STDERR_FILENO}}) {
    const int fd = open((base.string() + suffix).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, to);
    close(fd);
  }
  for (const auto& [name, value] : p.variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : p.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

std::map<int, pid_t> ready(const std::string& out) {
  std::map<int, pid_t> pids;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    int rank = 0, pid = 0;
    if (std::sscanf(line.c_str(), "rank %d pid %d ready", &rank, &pid) == 2) pids[rank] = pid;
  }
  return pids;
}

// One that has ended and waits for its parent to look is not.
bool is_alive(pid_t pid) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = stat.rfind(") ");
  return name_end != stat.npos && stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

// One run: its processes, and the files that all of them write to.
class Running {
 public:
  Running(const RunOf& run, const std::vector<Process>& processes) : run_(run) {
    static int number = 0;
    base_ = fs::temp_directory_path() / fmt::format("megalith-comm-test-{}-{}", getpid(), number++);
    for (const Process& p : processes) started_.push_back(start(p, base_));
    ran_.exit_codes.assign(started_.size(), -1);
  }

  Ran finish(const Act& act, bool has_launcher) {
    auto acted = Clock::now();
    if (act) {
      wait_until([&] { return int((ran_.pids = ready(text_of(out()))).size()) == run_.size || reap(); });
      acted = Clock::now();
      if (int(ran_.pids.size()) == run_.size) act(ran_.pids, has_launcher ? started_[0] : 0);
    }
    bool is_over = false;
    ran_.is_all_gone = wait_until([&] { return (is_over = reap()), none_left(); });
    ran_.seconds_after_act = since(acted);
    wait_until([&] { return is_over || reap(); });
    ran_.seconds_in_all = since(acted);
    kill_all();
    ran_.out = text_of(out()), ran_.err = text_of(err());
    fs::remove(out()), fs::remove(err());
    return ran_;
  }

 private:
  fs::path out() const { return base_.string() + ".out"; }
  fs::path err() const { return base_.string() + ".err"; }

  template <class F>
  bool wait_until(F&& is_so) {
    while (since(began_) < run_.seconds) {
      if (is_so()) return true;
      rest();
    }
    return false;
  }

  // Takes the exit codes of those that have ended; true if all have.
  bool reap() {
    bool all = true;
    for (size_t i = 0; i < started_.size(); ++i) {
      int status = 0;
      if (ran_.exit_codes[i] < 0 && waitpid(started_[i], &status, WNOHANG) == started_[i])
        ran_.exit_codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      all = all && ran_.exit_codes[i] >= 0;
    }
    return all;
  }

  bool none_left() const {
    return std::ranges::none_of(ran_.pids, [](const auto& p) { return is_alive(p.second); });
  }

  void kill_all() {
    for (size_t i = 0; i < started_.size(); ++i) {
      if (ran_.exit_codes[i] >= 0) continue;
      kill(started_[i], SIGKILL);
      waitpid(started_[i], nullptr, 0);
      ran_.exit_codes[i] = 128 + SIGKILL;
    }
    if (!ran_.is_all_gone)
      for (const auto& [rank, pid] : ran_.pids) kill(pid, SIGKILL);
  }

  const RunOf run_;
  const Clock::time_point began_ = Clock::now();
  fs::path base_;
  std::vector<pid_t> started_;
  Ran ran_;
};

std::string program() { return std::string(kBinaryDir) + "/bin/comm-program"; }

}  // namespace

bool Ran::ok() const {
  return std::ranges::all_of(exit_codes, [](int code) { return code == 0; });
}

bool Ran::all_failed() const {
  return std::ranges::all_of(exit_codes, [](int code) { return code > 0; });
}

std::vector<std::string> Ran::lines(const char* with) const {
  std::vector<std::string> found;
  std::istringstream in(err);
  for (std::string line; std::getline(in, line);)
    if (line.find(with) != line.npos) found.push_back(line);
  return found;
}

bool has_mpirun() {
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/mpirun").c_str(), X_OK) == 0) return true;
  return false;
}

Ran run_by_mpirun(const RunOf& run, const Act& act) {
  Process p{{"mpirun", "--oversubscribe", "--allow-run-as-root", "-n", std::to_string(run.size), program()},
            run.variables};
  p.words.insert(p.words.end(), run.words.begin(), run.words.end());
  return Running(run, {p}).finish(act, true);
}

Ran run_by_environment(const RunOf& run, const Act& act, const std::function<Variables(int rank)>& of_rank) {
  const std::string port = std::to_string(free_port());
  std::vector<Process> processes;
  for (int r = 0; r < run.size; ++r) {
    Process p{{program()}, run.variables};
    p.words.insert(p.words.end(), run.words.begin(), run.words.end());
    p.variables.merge(Variables{{"RANK", std::to_string(r)},
                                {"WORLD_SIZE", std::to_string(run.size)},
                                {"LOCAL_RANK", std::to_string(r)},
                                {"LOCAL_WORLD_SIZE", std::to_string(run.size)},
                                {"MASTER_ADDR", "localhost"},
                                {"MASTER_PORT", port}});
    if (of_rank)
      for (const auto& [name, value] : of_rank(r)) p.variables[name] = value;
    processes.push_back(p);
  }
  return Running(run, processes).finish(act, false);
}

int free_port() { return listen_at("127.0.0.1", 0).port; }

}  // namespace megalith::test
