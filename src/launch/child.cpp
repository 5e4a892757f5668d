#include "launch/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/process_start.h"

namespace megalith::launch {
namespace {

struct Ends {
  Socket ours, theirs;
};

Ends make_pipe() {
  int fds[2];
  check(pipe2(fds, O_CLOEXEC) == 0, "cannot make a pipe: {}", std::strerror(errno));
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return {Socket(fds[0]), Socket(fds[1])};
}

Ends make_line() {
  int fds[2];
  check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0, "cannot make a socket: {}",
        std::strerror(errno));
  return {Socket(fds[0]), Socket(fds[1])};
}

void settle_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGXFSZ, SIG_DFL);
}

[[noreturn]] void become(const ChildCommand& command, pid_t agent, const Ends& out, const Ends& err, const Ends& line) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != agent) _exit(1);  // the agent ended before the prctl above
  if (out.theirs) dup2(out.theirs.fd(), STDOUT_FILENO);
  dup2(err.theirs.fd(), STDERR_FILENO);
  const int own_line = dup(line.theirs.fd());  // exec does not close the duplicate
  for (const int fd : command.lent) fcntl(fd, F_SETFD, 0);
  for (const auto& [name, value] : command.variables) setenv(name.c_str(), value.c_str(), 1);
  setenv("MEGALITH_LAUNCH_FD", std::to_string(own_line).c_str(), 1);
  settle_signals();
  std::vector<char*> argv;
  for (const std::string& word : command.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const bool is_self = command.words[0].find('/') == std::string::npos;
  execv(is_self ? "/proc/self/exe" : argv[0], argv.data());
  const std::string why = fmt::format("megalith launch: cannot start {}: {}\n", argv[0], std::strerror(errno));
  const ssize_t written = write(STDERR_FILENO, why.data(), why.size());
  _exit(written < 0 ? 1 : 2);
}

}  // namespace

Child start_child(const ChildCommand& command) {
  Ends out = command.pipes_out ? make_pipe() : Ends{}, err = make_pipe(), line = make_line();
  const pid_t agent = getpid(), pid = fork();
  check(pid >= 0, "cannot start a process: {}", std::strerror(errno));
  if (pid == 0) become(command, agent, out, err, line);
  setpgid(pid, pid);  // also in the parent: either process may be first
  return {pid, std::move(out.ours), std::move(err.ours), std::move(line.ours)};
}

std::optional<int> end_of(const Child& child) {
  std::ostringstream read;
  read << std::ifstream(fmt::format("/proc/{}/stat", child.pid))
              .rdbuf();  // empty, without an exception, if the process has just ended
  return end_in(read.str());
}

void tell_child(const Child& child, int signal) { kill(child.pid, signal); }
void kill_all_of(const Child& child) { kill(-child.pid, SIGKILL); }

}  // namespace megalith::launch
