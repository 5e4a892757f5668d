// The connection of a node other than 0 to the controller. It reconnects after a loss.
#include <fmt/core.h>

#include <optional>

#include "base/check.h"
#include "comm/connection.h"
#include "comm/patience.h"
#include "launch/controller_side.h"
#include "launch/greeting.h"

namespace megalith::launch {
namespace {

class FarController final : public ControllerSide {
 public:
  FarController(const NodePlace& place, const Rules& rules, const Report& hello)
      : place_(place), rules_(rules), hello_(hello) {}

  void say(const Report& report, double) override {
    if (controller_) controller_->send(text_of(report));
  }
  void told_to_end(int) override {}  // its own ranks get the signal, and stop all other ranks with them

  std::vector<Order> hear(double now) override {
    std::vector<Order> orders;
    if (!controller_) return reach(now), orders;
    controller_->flush();
    while (const auto text = controller_->next()) {
      orders.push_back(order_from(*text));
      hello_.generation = std::max(hello_.generation, orders.back().generation);
      is_over_ = is_over_ || orders.back().kind == Order::Kind::finish;
    }
    if (controller_->is_closed() && !is_over_) {
      controller_.reset();
      since_ = now;
      say_line(fmt::format("node {} lost its connection to node 0 at {} port {}: reconnecting for {} s", place_.node,
                           place_.host, place_.port, rules_.rejoin_seconds));
      // Ranks of this node cannot continue without rank 0.
      orders.push_back({.kind = Order::Kind::stop, .generation = hello_.generation, .grace = rules_.grace_seconds});
    }
    return orders;
  }

  std::vector<int> fds() const override {
    return controller_ ? std::vector<int>{controller_->fd()} : std::vector<int>{};
  }
  std::string last_line() const override { return ""; }

 private:
  void reach(double now) {
    constexpr double kConnectSeconds = 5, kRetrySeconds = 0.2;
    if (now < next_try_) return;
    next_try_ = now + kRetrySeconds;
    std::string why;
    Connection c(connect_to(place_.host, place_.port, kConnectSeconds, why), kLongestMessage);
    if (c.fd() >= 0 && is_welcome(c, why)) {
      controller_.emplace(std::move(c));
      has_been_there_ = true;
      return;
    }
    const double patience = has_been_there_ ? rules_.rejoin_seconds : rules_.join_seconds;
    check(now - since_ < patience, "node {} could not reach node 0 at {} port {} within {} s ({})", place_.node,
          place_.host, place_.port, patience, why);
  }

  bool is_welcome(Connection& c, std::string& why) const {
    c.send(text_of(Greeting{place_.node, place_.nodes, hello_}));
    Patience patience(10);
    while (!c.is_closed() && !patience.is_over()) {
      if (const auto answer = c.next()) {
        check(!answer->starts_with(kRefusal), "node 0 at {} port {} refused node {}: {}", place_.host, place_.port,
              place_.node, answer->substr(1));
        return *answer == kWelcome;
      }
      patience.pause();
    }
    why = "the program at this port is not the controller of a launch";
    return false;
  }

  const NodePlace place_;
  const Rules rules_;
  Report hello_;
  std::optional<Connection> controller_;
  double since_ = 0, next_try_ = 0;
  bool has_been_there_ = false, is_over_ = false;
};

}  // namespace

std::unique_ptr<ControllerSide> make_far_controller(const NodePlace& place, const Rules& rules, const Report& hello) {
  return std::make_unique<FarController>(place, rules, hello);
}

}  // namespace megalith::launch
