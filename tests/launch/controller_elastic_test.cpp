// Tests of the controller's decisions if the number of ranks changes.
#include <signal.h>

#include "controller_nodes.h"

namespace megalith::launch {
namespace {

// There are four data-parallel ranks. The global batch is 12.
int shares(int live) { return live >= 4 ? 4 : live; }

TEST(Controller, GoesOnWithFewerNodesAndTakesThemInAgain) {
  Nodes n({.least_nodes = 2, .wait_seconds = 10, .snapshot_steps = 4}, {1, 1, 1, 1}, shares);
  ASSERT_EQ(n.starts(), 4);
  n.did(5);
  n.controller().lost(3, n.now);
  for (const int r : {0, 1, 2}) n.ends({.rank = r, .code = 75, .iteration = 5}, r);
  n.tick();
  n.now = 9;
  n.tick();
  EXPECT_EQ(n.starts(), 4) << "it may come back";
  n.now = 11;
  n.tick();
  ASSERT_EQ(n.starts(), 7);
  EXPECT_EQ(n.orders().back().second.world, 3);
  EXPECT_NE(n.said.find("generation 2 starts 3 of 3 available ranks"), std::string::npos) << n.said;
  n.hello(3, 1);
  n.tick();
  EXPECT_EQ(n.count(Order::Kind::stop), 3) << "before its first step a generation is left alone";
  n.did(6);
  n.tick();
  n.did(8);
  n.tick();
  EXPECT_EQ(n.count(Order::Kind::stop), 3) << "the snapshot of iteration 8 may be under way";
  n.did(9);
  n.tick();
  ASSERT_EQ(n.count(Order::Kind::stop), 7) << "of the node that does nothing yet too";
  EXPECT_TRUE(n.orders().back().second.leaves);
  for (const int r : {0, 1, 2}) n.ends({.rank = r, .code = 143, .iteration = 9}, r);
  n.tick();
  n.tick();
  EXPECT_EQ(n.starts(), 11);
  EXPECT_EQ(n.orders().back().second.world, 4);
  EXPECT_FALSE(n.controller().verdict());
}

TEST(Controller, LeavesIdleWhatTheWorkCannotBeSharedOver) {
  const auto even = [](int live) { return live / 2 * 2; };
  Nodes n({.least_nodes = 1, .wait_seconds = 0}, {2, 3}, even);
  ASSERT_EQ(n.starts(), 2);
  EXPECT_EQ(n.orders()[1].second.ranks, 2);
  EXPECT_EQ(n.orders()[1].second.world, 4);
  n.did(1);
  n.controller().lost(1, n.now);
  for (const int r : {0, 1}) n.ends({.rank = r, .code = 75, .iteration = 1});
  n.tick();
  n.tick();
  EXPECT_EQ(n.orders().back().second.world, 2);
}

TEST(Controller, LeavesOutADeviceWhereFewerRanksWillDo) {
  for (const int code : {17, 1}) {  // 17: wrong results; 1: the rank cannot start
    Nodes n({.least_ranks = 2}, {3}, shares);
    n.did(3);
    if (code == 1) n.crash(3), n.ends({.rank = 2, .code = 75}), n.tick(), n.tick();
    n.ends({.rank = 1, .code = code, .iteration = code == 1 ? -1 : 3, .last_line = "no such device"});
    for (const int r : {0, 2}) n.ends({.rank = r, .code = 75});
    n.tick();
    n.tick();
    EXPECT_FALSE(n.controller().verdict()) << code;
    EXPECT_EQ(n.orders().back().second.world, 2) << code << n.said;
    n.did(4);
    n.ends({.rank = 0, .code = 17, .iteration = 4});
    n.ends({.rank = 1, .code = 75, .iteration = 4});
    n.expect_end(17, "rank 0");
  }
}

// The layout needs four ranks. Two ranks have another layout, one rank has none.
World with_layouts(int live) {
  if (live >= 4) return 4;
  return live >= 2 ? World(2, "--tensor-model-parallel-size 1") : World();
}

TEST(Controller, StartsFewerRanksWithAnotherLayoutAndGoesBack) {
  Nodes n({.least_nodes = 1, .wait_seconds = 5}, {1, 3}, with_layouts);
  EXPECT_EQ(n.orders().back().second.layout, "");
  n.did(1);
  n.controller().lost(1, n.now);
  n.hello(1, 2);
  n.ends({.rank = 0, .code = 75, .iteration = 1});
  n.tick();
  n.tick();
  EXPECT_EQ(n.orders().back().second.world, 2);
  EXPECT_EQ(n.orders().back().second.layout, "--tensor-model-parallel-size 1");
  EXPECT_NE(n.said.find("starts 2 of 3 available ranks with --tensor-model-parallel-size 1"), std::string::npos)
      << n.said;
  n.did(2);
  n.hello(1, 3);
  n.tick();
  for (const int r : {0, 1}) n.ends({.rank = r, .code = 128 + SIGTERM, .iteration = 2}, r);
  n.tick();
  n.tick();
  EXPECT_EQ(n.orders().back().second.world, 4);
  EXPECT_EQ(n.orders().back().second.layout, "");
}

TEST(Controller, SaysOnceWhatItWaitsFor) {
  Nodes n({.least_nodes = 1, .wait_seconds = 5}, {1, 3}, with_layouts);
  n.did(1);
  n.controller().lost(1, n.now);
  n.ends({.rank = 0, .code = 75, .iteration = 1});
  for (n.now = 0; n.now < 10; ++n.now) n.tick();
  const std::string told = "1 ranks on 1 nodes are available, and the run needs 2 ranks: waiting 60 s for more nodes";
  ASSERT_NE(n.said.find(told), std::string::npos) << n.said;
  EXPECT_EQ(n.said.find(told), n.said.rfind(told)) << n.said;
}

TEST(Controller, EndsWhereTooFewNodesAreLeft) {
  Nodes n({.least_nodes = 2, .wait_seconds = 5}, {1, 1, 1}, shares);
  n.did(1);
  n.controller().lost(1, n.now);
  n.controller().lost(2, n.now);
  n.ends({.rank = 0, .code = 75, .iteration = 1});
  n.tick();
  n.now = 59;
  n.tick();
  EXPECT_FALSE(n.controller().verdict());
  n.now = 61;
  n.expect_end(1, "node 1, 2 did not come within 60 s");
}

}  // namespace
}  // namespace megalith::launch
