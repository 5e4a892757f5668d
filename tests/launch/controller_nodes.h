// Simulated nodes for tests of the controller, without processes or clocks.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "launch/controller.h"

namespace megalith::launch {

// Simulated nodes that follow the controller's orders.
class Nodes {
 public:
  explicit Nodes(Rules rules, std::vector<int> ranks = {2}, Worlds worlds = {})
      : controller_((rules.nodes = int(ranks.size()), rules), [] { return std::pair("host-0", 1234); }, worlds) {
    for (size_t i = 0; i < ranks.size(); ++i) hello(int(i), ranks[i]);
    tick();
  }

  void hello(int node, int ranks, i64 generation = 0) {
    controller_.take(node, {.kind = Report::Kind::hello, .generation = generation, .host = "host", .ranks = ranks},
                     now);
  }
  void did(i64 iteration) {
    controller_.take(
        0, {.kind = Report::Kind::progress, .generation = controller_.generation(), .iteration = iteration}, now);
  }
  void ends(Exit e, int node = 0) {
    e.host = "host";
    controller_.take(node, {.kind = Report::Kind::exited, .generation = controller_.generation(), .exit = e}, now);
  }
  // One rank is killed. The other rank then fails because of it.
  void crash(i64 iteration) {
    ends({.rank = 1, .signal = 9, .iteration = iteration});
    ends({.rank = 0, .code = 75, .iteration = iteration});
    tick();
  }
  std::vector<std::pair<int, Order>> tick() {
    controller_.tick(now);
    auto orders = controller_.orders();
    all_.insert(all_.end(), orders.begin(), orders.end());
    for (const std::string& line : controller_.lines()) said += line + "\n";
    return orders;
  }
  int count(Order::Kind kind) const {
    return int(std::ranges::count_if(all_, [&](const auto& o) { return o.second.kind == kind; }));
  }
  int starts() const { return count(Order::Kind::start); }
  const std::vector<std::pair<int, Order>>& orders() const { return all_; }
  Controller& controller() { return controller_; }

  void expect_end(int code, const std::string& part) {
    tick();
    ASSERT_TRUE(controller_.verdict());
    EXPECT_EQ(controller_.verdict()->code, code) << controller_.verdict()->why;
    EXPECT_NE(controller_.verdict()->why.find(part), std::string::npos) << controller_.verdict()->why;
  }

  double now = 0;
  std::string said;

 private:
  Controller controller_;
  std::vector<std::pair<int, Order>> all_;
};

}  // namespace megalith::launch
