#include "comm/watch.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/check.h"
#include "base/one_line.h"
#include "comm/launch_line.h"
#include "comm/patience.h"
#include "comm/token.h"
#include "comm/watch_posts.h"

namespace megalith {
namespace {

bool share_network(const std::vector<Member>& members) {
  bool all = true;
  for (const Member& m : members) all = all && m.network == members[0].network;
  return all;
}

// "port token address...": where the hub can be reached.
std::string invitation(const Place& place, int port, const std::string& token, bool is_near) {
  std::string text = fmt::format("{} {}", port, token);
  if (is_near) return text + " 127.0.0.1";
  if (!place.master_address.empty()) text += " " + place.master_address;
  for (const std::string& address : own_addresses()) text += " " + address;
  return text;
}

// The answer to a hello is a beat.
bool is_hub(Connection& c, const std::string& token, int rank) {
  c.send(fmt::format("{}{} {}", frame::kHello, token, rank));
  Patience patience(10);
  while (!c.is_closed() && !patience.is_over()) {
    if (const auto answer = c.next()) return answer->starts_with(frame::kBeat);
    patience.pause();
  }
  return false;
}

std::optional<Connection> reach_hub(const std::string& invitation, int rank, std::string& why) {
  std::istringstream in(invitation);
  int port = 0;
  std::string token, address, reason;
  in >> port >> token;
  while (in >> address) {
    Connection c(connect_to(address, port, 3, reason), frame::kLongest);
    if (c.fd() >= 0 && is_hub(c, token, rank)) return c;
    why += fmt::format("{}{} port {}: {}", why.empty() ? "" : ", ", address, port, c.fd() < 0 ? reason : "not rank 0");
  }
  return {};
}

}  // namespace

double OwnClock::advance() {
  const auto now = std::chrono::steady_clock::now();
  now_ += std::min(std::chrono::duration<double>(now - last_).count(), kLongestStep);
  last_ = now;
  return now_;
}

Watch::Watch(const Place& place, double silence_seconds, const Gather& gather) {
  WatchPlace at{.rank = place.rank, .silence_seconds = silence_seconds, .members = {}};
  for (const std::string& text : gather(Member::self(place.rank).text())) at.members.push_back(Member::from_text(text));
  neighbours_ = int(std::ranges::count(at.members, at.members[size_t(place.rank)].processes, &Member::processes));
  std::string problem;
  try {
    if (place.rank == 0) {
      const bool is_near = share_network(at.members);
      Listener listener = listen_at(is_near ? "127.0.0.1" : "", 0);
      const std::string token = random_token();
      const std::string text = invitation(place, listener.port, token, is_near);
      post_ = make_hub(at, mailbox_, std::move(listener), token);
      thread_ = std::thread([this] { run(); });
      gather(text);
    } else if (auto hub = reach_hub(gather("")[0], place.rank, problem)) {
      problem.clear();
      post_ = make_spoke(at, mailbox_, std::move(*hub));
      thread_ = std::thread([this] { run(); });
    }
    const std::vector<std::string> problems = gather(problem);
    for (size_t r = 0; r < problems.size(); ++r)
      check(problems[r].empty(), "{} can't reach rank 0 on {} ({}): allow TCP connections between these hosts",
            name_of(at.members[r]), at.members[0].host, problems[r]);
  } catch (...) {
    stop();
    throw;
  }
}

Watch::~Watch() { stop(); }

void Watch::stop() {
  is_stopped_ = true;
  mailbox_.wake();
  if (thread_.joinable()) thread_.join();
}

void Watch::run() {
  sigset_t all;
  sigfillset(&all);
  for (const int s : {SIGTERM, SIGINT, SIGQUIT}) sigdelset(&all, s);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  try {
    OwnClock clock;
    const LaunchLine launch([](const char* name) -> const char* { return std::getenv(name); });
    double told = 0;
    while (!post_->is_over() && !is_stopped_) {
      constexpr int kTickMilliseconds = 100;
      constexpr std::chrono::milliseconds kRest(20);  // of a hub of a thousand ranks, which beat at different times
      std::vector<pollfd> wait = {{mailbox_.wake_fd(), POLLIN, 0}};
      for (const int fd : post_->fds()) wait.push_back({fd, POLLIN, 0});
      poll(wait.data(), wait.size(), kTickMilliseconds);
      std::this_thread::sleep_for(kRest);
      mailbox_.clear_wake();
      const double now = clock.advance();
      post_->step(now, signals_.told());
      if (!launch.is_there() || now - told < kBeatSeconds) continue;
      told = now;
      launch.at(mailbox_.words(), mailbox_.said());
    }
  } catch (const std::exception& e) {
    write_end(fmt::format("the watch over the ranks failed: {}", one_line(e)));
    leave(kEndedByOthers);
  }
}

void Watch::farewell() { mailbox_.ask(WatchMailbox::Wish::farewell); }

bool Watch::failed(const std::string& error) { return mailbox_.ask(WatchMailbox::Wish::failed, error); }

void write_end(const std::string& line) {
  const char* clear = isatty(STDERR_FILENO) ? "\r\x1b[K" : "";  // of a status line
  const std::string text = fmt::format("{}megalith: {}\n", clear, line);
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody reads it: all end in any case
}

void report_silence(int rank) {
  const LaunchLine launch([](const char* name) -> const char* { return std::getenv(name); });
  if (!launch.is_there()) return;
  launch.silent(rank);
  constexpr std::chrono::milliseconds kLongest(1000);  // the agents wait 0.25 s for the stacks
  std::this_thread::sleep_for(kLongest);
}

std::string last_at(const std::string& what) {
  return what.empty() ? "" : fmt::format("; it was last at \"{}\"", what);
}
std::string was_at(int rank, const std::string& what) {
  return what.empty() ? "" : fmt::format("; rank {} was at \"{}\"", rank, what);
}

std::string signal_name(int signal) { return signal == SIGINT ? "SIGINT" : "SIGTERM"; }

void leave(int code) { _exit(code); }

}  // namespace megalith
