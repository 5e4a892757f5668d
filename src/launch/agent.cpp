#include "launch/agent.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"
#include "comm/member.h"
#include "launch/awake_clock.h"
#include "launch/controller_side.h"
#include "launch/node_ranks.h"

namespace megalith::launch {
namespace {

// Makes signals readable from a descriptor. A signal that this process ignores at its start stays ignored, here and
// in the ranks.
class SignalReader {
 public:
  SignalReader() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGCHLD);
    for (const int s : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) {
      struct sigaction now {};
      sigaction(s, nullptr, &now);
      if (now.sa_handler != SIG_IGN) sigaddset(&set_, s);
    }
    sigprocmask(SIG_BLOCK, &set_, nullptr);
    fd_ = Socket(signalfd(-1, &set_, SFD_NONBLOCK | SFD_CLOEXEC));
    check(bool(fd_), "cannot read signals");
  }

  int fd() const { return fd_.fd(); }
  int next() {  // 0: no signal; the end of a child only wakes the agent
    signalfd_siginfo info;
    while (read(fd_.fd(), &info, sizeof info) == ssize_t(sizeof info))
      if (info.ssi_signo != SIGCHLD) return int(info.ssi_signo);
    return 0;
  }

 private:
  sigset_t set_;
  Socket fd_;
};

Rules rules_of(const Settings& settings, const NodePlace& place) {
  return {.nodes = place.nodes,
          .max_restarts = settings.max_restarts,
          .window_seconds = 60 * settings.restart_window_minutes,
          .min_progress = settings.min_progress_steps,
          .learns_hang = settings.learns_hang(),
          .hang_seconds = settings.hang_limit(),
          .spares = int(settings.spares),
          .least_nodes = place.least_nodes,
          .least_ranks = settings.min_ranks,
          .wait_seconds = settings.node_wait_seconds,
          .snapshot_steps = settings.snapshot_steps};
}

Report hello_of(const Settings& settings, const NodePlace& place) {
  return {.run_id = settings.run_id,
          .host = Member::self(0).host,
          .ranks = place.ranks,
          .snapshot_steps = settings.snapshot_steps};
}

class Agent {
 public:
  Agent(const Settings& settings, const NodePlace& place, const Worlds& worlds)
      : ranks_(settings, place, Member::self(0).host) {
    const Rules rules = rules_of(settings, place);
    const Report hello = hello_of(settings, place);
    if (place.nodes == 1)
      controller_ = make_own_controller(place, rules, hello, worlds);
    else if (place.node == 0)
      controller_ = make_near_controller(place, rules, hello, settings.words);
    else
      controller_ = make_far_controller(place, rules, hello);
  }

  int run() {
    while (!code_) {
      wait();
      for (int s; (s = signals_.next()) != 0;) take_signal(s);
      ranks_.move_on(now());
      for (const Report& report : ranks_.look()) controller_->say(report, now());
      if (ranks_.kills_controller()) controller_->kill_controller();
      for (const Order& order : controller_->hear(now())) take(order);
    }
    ranks_.kill_all();
    ranks_.give_back_snapshots();
    while (!ranks_.is_empty()) {
      wait();
      ranks_.look();
    }
    if (const std::string line = controller_->last_line(); !line.empty()) say_line(line);
    return *code_;
  }

 private:
  double now() { return clock_.at(steady_seconds()); }

  void wait() {
    constexpr int kTickMilliseconds = 50;
    constexpr int kStoppingMilliseconds = 5;  // the system sends no signal when a rank's first thread exits
    std::vector<pollfd> all{{signals_.fd(), POLLIN, 0}};
    for (const int fd : ranks_.fds()) all.push_back({fd, POLLIN, 0});
    for (const int fd : controller_->fds()) all.push_back({fd, POLLIN, 0});
    poll(all.data(), all.size(), ranks_.is_stopping() ? kStoppingMilliseconds : kTickMilliseconds);
  }

  void take_signal(int signal) {
    ranks_.tell(signal);
    if (signal != SIGTERM && signal != SIGINT) return;
    controller_->told_to_end(signal);
    ranks_.keep_no_standby();
    constexpr double kGraceSeconds = 2;
    if (signal == SIGINT && ++interrupts_ == 2) ranks_.stop(kGraceSeconds, now());
    if (ranks_.is_empty()) code_ = 128 + signal;
  }

  void take(const Order& order) {
    if (order.kind == Order::Kind::start) ranks_.start(order);
    const bool hangs = order.kind == Order::Kind::stop && order.is_hang;
    if (hangs) ranks_.collect_stacks();
    if (order.kind == Order::Kind::stop && order.leaves) ranks_.tell(SIGTERM);
    if (order.kind == Order::Kind::stop) ranks_.stop(order.grace, now()), ranks_.move_on(now());
    if (hangs)  // after the ranks are killed, as names of functions take time
      for (const std::string& line : ranks_.whereabouts()) say_line(line);
    if (order.kind == Order::Kind::finish) code_ = order.code;
  }

  AwakeClock clock_;
  SignalReader signals_;
  NodeRanks ranks_;
  std::unique_ptr<ControllerSide> controller_;
  std::optional<int> code_;
  int interrupts_ = 0;
};

}  // namespace

int run_agent(const Settings& settings, const NodePlace& place, const Worlds& worlds) {
  return Agent(settings, place, worlds).run();
}

int run_controller(const Settings& settings, const NodePlace& place, const Worlds& worlds, int fd) {
  return run_controller(place, rules_of(settings, place), hello_of(settings, place), worlds, fd);
}

}  // namespace megalith::launch
