// The controller, and the connections of the agents. With one node it is in the process of the only agent.
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <optional>

#include "base/check.h"
#include "base/clock.h"
#include "comm/connection.h"
#include "comm/patience.h"
#include "launch/awake_clock.h"
#include "launch/controller_side.h"
#include "launch/greeting.h"

namespace megalith::launch {
namespace {

class OwnController final : public ControllerSide {
 public:
  OwnController(const NodePlace& place, const Rules& rules, const Report& hello, const Worlds& worlds,
                Listener listener)
      : place_(place),
        run_id_(hello.run_id),
        snapshot_steps_(hello.snapshot_steps),
        controller_(
            rules, [this] { return master(); }, worlds),
        listener_(std::move(listener)),
        agents_(size_t(place.nodes)) {
    if (!listener_.socket) controller_.take(0, hello, 0);
  }

  // Other nodes must learn that the launch is over.
  ~OwnController() override {
    Patience patience(2);
    while (!patience.is_over() && !std::ranges::all_of(agents_, [](auto& a) { return !a || is_told(*a); }))
      patience.pause();
  }

  void say(const Report& report, double now) override { controller_.take(0, report, now); }
  void told_to_end(int signal) override { controller_.told_to_end(signal); }
  void kill_controller() override { kill(getpid(), SIGKILL); }

  std::vector<Order> hear(double now) override {
    welcome(now);
    for (int node = 0; node < place_.nodes; ++node) hear_agent(node, now);
    controller_.tick(now);
    std::vector<Order> own;
    for (const auto& [node, order] : controller_.orders()) {
      if (!listener_.socket)
        own.push_back(order);
      else if (agents_[size_t(node)])
        agents_[size_t(node)]->send(text_of(order));
    }
    for (const std::string& line : controller_.lines()) say_line(line);
    return own;
  }

  std::vector<int> fds() const override {
    std::vector<int> all;
    if (listener_.socket) all.push_back(listener_.socket.fd());
    for (const Stranger& s : strangers_) all.push_back(s.connection.fd());
    for (const auto& a : agents_)
      if (a) all.push_back(a->fd());
    return all;
  }

  std::string last_line() const override { return controller_.verdict() ? controller_.verdict()->why : ""; }
  bool is_over() const { return controller_.verdict().has_value(); }

 private:
  struct Stranger {
    Connection connection;
    double since;
  };

  // Each generation has its own port, which stays reserved until the next generation.
  std::pair<std::string, int> master() {
    held_ = hold_port(is_loopback(place_.host) ? place_.host : "");
    return {place_.host, held_.port};
  }

  void welcome(double now) {
    if (!listener_.socket) return;
    while (Socket s = listener_.accept()) {
      if (strangers_.size() < agents_.size() + 16)
        strangers_.push_back({Connection(std::move(s), kLongestMessage), now});
    }
    strangers_.remove_if([&](Stranger& s) { return is_settled(s, now); });
  }

  bool is_settled(Stranger& s, double now) {
    constexpr double kPatience = 10;
    const auto frame = s.connection.next();
    if (!frame) return s.connection.is_closed() || now - s.since > kPatience;
    const std::optional<Greeting> g = greeting_from(*frame);
    std::string refusal;
    if (!g || g->hello.run_id != run_id_)
      refusal = "node 0 belongs to a launch of another --run-id";
    else if (g->nodes != place_.nodes || g->node < 0 || g->node >= place_.nodes)
      refusal = fmt::format("node 0 belongs to a launch of {} nodes: it has no node {} of {}", place_.nodes, g->node,
                            g->nodes);
    else if (g->hello.snapshot_steps != snapshot_steps_)
      refusal = fmt::format("node 0 has --snapshot-steps {}, this node {}: give the same on all nodes", snapshot_steps_,
                            g->hello.snapshot_steps);
    else if (agents_[size_t(g->node)] && !agents_[size_t(g->node)]->is_closed())
      refusal = fmt::format("another agent is already node {}", g->node);
    if (!refusal.empty()) {
      s.connection.send(kRefusal + refusal);
      return true;
    }
    if (agents_[size_t(g->node)]) controller_.lost(g->node, now);
    s.connection.send(kWelcome);
    agents_[size_t(g->node)].emplace(std::move(s.connection));
    controller_.take(g->node, g->hello, now);
    return true;
  }

  void hear_agent(int node, double now) {
    std::optional<Connection>& agent = agents_[size_t(node)];
    if (!agent) return;
    agent->flush();
    while (const auto text = agent->next())
      if (const Report r = report_from(*text); r.kind != Report::Kind::hello) controller_.take(node, r, now);
    if (!agent->is_closed()) return;
    agent.reset();
    controller_.lost(node, now);
  }

  // An agent closes its connection after it has read everything.
  static bool is_told(Connection& agent) {
    agent.flush();
    while (agent.next()) continue;
    return agent.is_closed();
  }

  const NodePlace place_;
  const std::string run_id_;
  const i64 snapshot_steps_;
  Controller controller_;
  Listener listener_, held_;
  std::vector<std::optional<Connection>> agents_;  // by node
  std::list<Stranger> strangers_;
};

}  // namespace

std::unique_ptr<ControllerSide> make_own_controller(const NodePlace& place, const Rules& rules, const Report& hello,
                                                    const Worlds& worlds) {
  return std::make_unique<OwnController>(place, rules, hello, worlds, Listener());
}

int run_controller(const NodePlace& place, const Rules& rules, const Report& hello, const Worlds& worlds, int fd) {
  OwnController controller(place, rules, hello, worlds, Listener{Socket(fd), place.port});
  AwakeClock clock;
  while (!controller.is_over()) {
    constexpr int kTickMilliseconds = 50;
    std::vector<pollfd> all;
    for (const int each : controller.fds()) all.push_back({each, POLLIN, 0});
    poll(all.data(), all.size(), kTickMilliseconds);
    controller.hear(clock.at(steady_seconds()));
  }
  return 0;
}

void say_line(const std::string& line) { fmt::print(stderr, "megalith launch: {}\n", line); }

}  // namespace megalith::launch
