// The connection of an agent to the controller. After a loss it connects again, and says what has happened meanwhile.
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
  FarController(const NodePlace& place, const Rules& rules, const Report& hello, std::function<void()> lost)
      : place_(place), rules_(rules), hello_(hello), lost_(std::move(lost)) {}

  // A new controller must hear all ends of this generation, and its last progress.
  void say(const Report& report, double) override {
    if (report.kind == Report::Kind::progress)
      progress_ = report;
    else
      said_.push_back(report);
    if (controller_) controller_->send(text_of(report));
  }
  // The ranks of other nodes get the signal, and stop all other ranks with them.
  void told_to_end(int signal) override {
    if (place_.node == 0) say({.kind = Report::Kind::told, .generation = hello_.generation, .signal = signal}, 0);
  }

  std::vector<Order> hear(double now) override {
    std::vector<Order> orders;
    if (!controller_) return reach(now), orders;
    controller_->flush();
    while (const auto text = controller_->next()) {
      orders.push_back(order_from(*text));
      hello_.generation = std::max(hello_.generation, orders.back().generation);
      take(orders.back());
    }
    if (controller_->is_closed() && !is_over_) {
      controller_.reset();
      since_ = now;
      if (lost_)
        lost_();
      else
        say_line(fmt::format("node {} lost its connection to node 0 at {} port {}: reconnecting for {} s", place_.node,
                             place_.host, place_.port, rules_.rejoin_seconds));
    }
    return orders;
  }

  std::vector<int> fds() const override {
    return controller_ ? std::vector<int>{controller_->fd()} : std::vector<int>{};
  }
  std::string last_line() const override { return why_; }

 private:
  void take(const Order& order) {
    if (order.kind == Order::Kind::start) {
      hello_.runs = order;
      std::erase_if(said_, [](const Report& r) { return r.kind != Report::Kind::told; });
      progress_.reset();
    }
    if (order.kind == Order::Kind::finish) is_over_ = true, why_ = order.why;
  }

  void reach(double now) {
    constexpr double kConnectSeconds = 0.8, kRetrySeconds = 0.2;  // AwakeClock takes a longer wait for sleep
    if (now < next_try_) return;
    next_try_ = now + kRetrySeconds;
    std::string why;
    Connection c(connect_to(place_.host, place_.port, kConnectSeconds, why), kLongestMessage);
    if (c.fd() >= 0 && is_welcome(c, why)) {
      controller_.emplace(std::move(c));
      has_been_there_ = true, tells_wait_ = false;
      for (const Report& r : said_) controller_->send(text_of(r));
      if (progress_) controller_->send(text_of(*progress_));
      return;
    }
    const double patience = has_been_there_ ? rules_.rejoin_seconds : rules_.join_seconds;
    check(now - since_ < patience, "node {} could not reach node 0 at {} port {} within {} s ({})", place_.node,
          place_.host, place_.port, patience, why);
    if (tells_wait_ && now - since_ >= rules_.quiet_seconds) {
      tells_wait_ = false;
      say_line(fmt::format("node {} can't reach node 0 at {} port {} yet ({}): trying for {} s", place_.node,
                           place_.host, place_.port, why, patience));
    }
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
  const std::function<void()> lost_;
  std::vector<Report> said_;  // since the start of this generation
  std::optional<Report> progress_;
  std::string why_;
  std::optional<Connection> controller_;
  double since_ = 0, next_try_ = 0;
  bool has_been_there_ = false, is_over_ = false;
  bool tells_wait_ = true;  // at the first time; a lost connection has a line of its own
};

}  // namespace

std::unique_ptr<ControllerSide> make_far_controller(const NodePlace& place, const Rules& rules, const Report& hello,
                                                    std::function<void()> lost) {
  return std::make_unique<FarController>(place, rules, hello, std::move(lost));
}

}  // namespace megalith::launch
