#include "program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "tests/places.h"

namespace megalith::test {

namespace {

namespace fs = std::filesystem;

std::string take_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  fs::remove(path);
  return text;
}

[[noreturn]] void become(const std::vector<std::string>& words, const fs::path& out, const fs::path& err,
                         const RunLimits& limits) {
  const auto redirect = [](const fs::path& path, int to) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, to);
    close(fd);
  };
  redirect(out, STDOUT_FILENO), redirect(err, STDERR_FILENO);
  if (limits.file_bytes > 0) {
    const rlimit most{rlim_t(limits.file_bytes), rlim_t(limits.file_bytes)};
    setrlimit(RLIMIT_FSIZE, &most);
    ::signal(SIGXFSZ, SIG_IGN);  // writes beyond the limit then fail, as on a full disk
  }
  if (limits.open_files > 0) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = rlim_t(limits.open_files);
    setrlimit(RLIMIT_NOFILE, &files);
  }
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

}  // namespace

// Results must not depend on whether the machine has a GPU.
static bool computes(const std::string& program, const std::vector<std::string>& words) {
  if (program != "megalith" || words.empty() || std::ranges::count(words, "--device")) return false;
  return words[0] == "pretrain-gpt" || words[0] == "generate" || words[0] == "evaluate";
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

bool has_mpirun() {
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/mpirun").c_str(), X_OK) == 0) return true;
  return false;
}

Ran run_program(const std::string& program, const std::vector<std::string>& words, const RunLimits& limits) {
  using Clock = std::chrono::steady_clock;
  static int number = 0;
  const std::string base = limits.output.empty() ? fmt::format("{}/megalith-test-{}-{}",
                                                               fs::temp_directory_path().string(), getpid(), number++)
                                                 : limits.output;
  std::vector<std::string> all;
  if (limits.ranks > 1) all = {"mpirun", "--oversubscribe", "--allow-run-as-root", "-n", std::to_string(limits.ranks)};
  all.push_back(limits.file.empty() ? std::string(kBinaryDir) + "/bin/" + program : limits.file);
  all.insert(all.end(), words.begin(), words.end());
  if (computes(program, words)) all.insert(all.end(), {"--device", "cpu"});
  const auto began = Clock::now();
  const pid_t child = fork();
  check(child >= 0, "cannot fork");
  if (child == 0) become(all, base + ".out", base + ".err", limits);
  Ran ran;
  int status = 0;
  rusage usage{};
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  while (wait4(child, &status, WNOHANG, &usage) == 0) {
    if (seconds() > limits.seconds || (limits.kill && limits.kill())) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::microseconds(limits.kill ? 100 : 2000));
  }
  const auto of = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  ran.cpu_seconds = of(usage.ru_utime) + of(usage.ru_stime);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ran.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ran.peak_bytes = i64(usage.ru_maxrss) * 1024;
  ran.out = take_text(base + ".out"), ran.err = take_text(base + ".err");
  return ran;
}

Ran megalith(const std::string& line, const RunLimits& limits) {
  return run_program("megalith", words_of(line), limits);
}

}  // namespace megalith::test
