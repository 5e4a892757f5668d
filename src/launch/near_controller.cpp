// Node 0 of several nodes: the controller is a child process of the agent. If it ends, the ranks train on, and the
// agent starts another one at the same listener.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "comm/patience.h"
#include "comm/socket.h"
#include "launch/controller_side.h"

namespace megalith::launch {
namespace {

// The controller of a killed agent may still have the port for a moment.
Listener open_listener(const NodePlace& place) {
  for (Patience patience(2);;) {
    try {
      return listen_at(is_loopback(place.host) ? place.host : "", place.port);
    } catch (const Error& e) {
      check(!patience.is_over(), "node 0: {}: give another port in --rdzv-endpoint, the same on all nodes", e.what());
    }
    patience.pause();
  }
}

class NearController final : public ControllerSide {
 public:
  NearController(const NodePlace& place, const Rules& rules, const Report& hello, const std::vector<std::string>& words)
      : words_(words), listener_(open_listener(place)) {
    start();
    NodePlace near = place;
    if (!is_loopback(near.host)) near.host = "127.0.0.1";
    agent_ = make_far_controller(near, rules, hello, [this] { restart(); });
  }
  // The controller ends when all agents know that the launch is over.
  ~NearController() override {
    agent_.reset();
    waitpid(pid_, nullptr, 0);
  }

  void say(const Report& report, double now) override { agent_->say(report, now); }
  void told_to_end(int signal) override { agent_->told_to_end(signal); }
  void kill_controller() override { kill(pid_, SIGKILL); }
  std::vector<Order> hear(double now) override { return agent_->hear(now); }
  std::vector<int> fds() const override { return agent_->fds(); }
  std::string last_line() const override { return agent_->last_line(); }

 private:
  void start() {
    const pid_t agent = getpid();
    started_at_ = steady_seconds();
    pid_ = fork();
    check(pid_ >= 0, "cannot start the controller: {}", std::strerror(errno));
    if (pid_ == 0) become(agent);
  }

  // Signals of the launch are for its agents.
  [[noreturn]] void become(pid_t agent) const {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != agent) _exit(1);
    for (const int s : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP}) signal(s, SIG_IGN);
    const int fd = dup(listener_.socket.fd());  // exec does not close the duplicate
    setenv("MEGALITH_CONTROLLER_FD", std::to_string(fd).c_str(), 1);
    std::vector<char*> argv{const_cast<char*>("megalith"), const_cast<char*>("launch")};
    for (const std::string& word : words_) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    _exit(1);
  }

  void restart() {
    constexpr double kShort = 1;
    constexpr int kMost = 5;
    short_lives_ = steady_seconds() - started_at_ < kShort ? short_lives_ + 1 : 0;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    check(short_lives_ < kMost, "the controller ends at once: see its message");
    say_line("the controller has ended: the ranks train on, and another controller starts");
    start();
  }

  const std::vector<std::string> words_;
  const Listener listener_;
  pid_t pid_ = -1;
  double started_at_ = 0;
  int short_lives_ = 0;
  std::unique_ptr<ControllerSide> agent_;
};

}  // namespace

std::unique_ptr<ControllerSide> make_near_controller(const NodePlace& place, const Rules& rules, const Report& hello,
                                                     const std::vector<std::string>& words) {
  return std::make_unique<NearController>(place, rules, hello, words);
}

}  // namespace megalith::launch
