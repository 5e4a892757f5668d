// Tests of the controller's decisions after given events, without processes or clocks.
#include "controller_nodes.h"

namespace megalith::launch {
namespace {

TEST(Controller, EndsWellWhenAllRanksDo) {
  Nodes n({});
  EXPECT_EQ(n.starts(), 1);
  EXPECT_EQ(n.orders()[0].second.world, 2);
  n.ends({.rank = 0});
  EXPECT_TRUE(n.tick().empty());
  EXPECT_FALSE(n.controller().verdict());
  n.ends({.rank = 1});
  n.expect_end(0, "");
  EXPECT_EQ(n.count(Order::Kind::stop), 0);
}

TEST(Controller, NumbersTheRanksOfAllNodes) {
  Nodes n({}, {2, 3, 1});
  ASSERT_EQ(n.starts(), 3);
  const std::vector<int> first = {0, 2, 5};
  for (int node = 0; node < 3; ++node) {
    EXPECT_EQ(n.orders()[size_t(node)].first, node);
    EXPECT_EQ(n.orders()[size_t(node)].second.first_rank, first[size_t(node)]);
    EXPECT_EQ(n.orders()[size_t(node)].second.world, 6);
    EXPECT_EQ(n.orders()[size_t(node)].second.master_address, "host-0");
    EXPECT_EQ(n.orders()[size_t(node)].second.master_port, 1234);
  }
}

TEST(Controller, StartsAgainWhenARankIsKilled) {
  Nodes n({});
  n.did(5);
  n.ends({.rank = 1, .signal = 9, .pid = 4711, .iteration = 5});
  const auto orders = n.tick();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].second.kind, Order::Kind::stop);
  EXPECT_EQ(orders[0].second.grace, 0.2) << "the others know no better cause";
  EXPECT_EQ(n.starts(), 1) << "the other rank is still there";
  n.ends({.rank = 0, .code = 75, .iteration = 5});
  n.tick();
  n.tick();
  EXPECT_EQ(n.starts(), 2);
  EXPECT_EQ(n.controller().generation(), 2);
  EXPECT_NE(n.said.find("rank 1 (pid 4711 on host) was ended by SIGKILL after iteration 5: restart 1 of 100"),
            std::string::npos)
      << n.said;
  n.now = 0.75;
  n.did(6);
  n.tick();
  EXPECT_NE(n.said.find("generation 2 completed iteration 6, 0.75 s after the failure"), std::string::npos) << n.said;
}

TEST(Controller, PassesOverWhatAnOlderGenerationTells) {
  Nodes n({});
  n.did(5);
  n.crash(5);
  n.tick();
  n.controller().take(0, {.kind = Report::Kind::exited, .generation = 1, .exit = {.rank = 0, .signal = 9}}, 0);
  n.tick();
  EXPECT_EQ(n.count(Order::Kind::stop), 1) << "a stop of generation 2";
}

TEST(Controller, DoesNotRestartAConfigurationError) {
  Nodes n({});
  n.ends({.rank = 1, .code = 75});
  n.ends({.rank = 0, .code = 1, .last_line = "megalith pretrain-gpt: --lr -1 is negative"});
  n.expect_end(1, "--lr -1 is negative");
  EXPECT_EQ(n.starts(), 1);
  Nodes other({});
  other.did(7);
  other.ends({.rank = 0, .code = 2, .iteration = 7});
  other.ends({.rank = 1, .code = 75, .iteration = 7});
  other.expect_end(1, "rank 0");
}

TEST(Controller, RestartsAnErrorAfterTheFirstStep) {
  for (const int code : {1, 16, 3}) {
    Nodes n({});
    n.did(7);
    n.ends({.rank = 1, .code = code, .iteration = 7});
    n.ends({.rank = 0, .code = 75, .iteration = 7});
    n.tick();
    n.tick();
    EXPECT_EQ(n.starts(), 2) << code;
  }
}

TEST(Controller, NamesTheLineThatAnotherRankWroteAboutTheCause) {
  Nodes n({});
  n.ends({.rank = 0, .code = 75, .last_line = "megalith: rank 1 (pid 7 on host) failed: disk full: all ranks end"});
  n.ends({.rank = 1, .code = 1});
  n.expect_end(1, "failed: disk full");
}

TEST(Controller, TakesASignalForTheCauseBeforeAnError) {
  Nodes n({}, {3});
  n.did(3);
  n.ends({.rank = 0, .code = 1, .iteration = 3});
  n.ends({.rank = 2, .signal = 11, .iteration = 3});
  n.ends({.rank = 1, .signal = 9, .is_brought_down = true, .iteration = 3});
  n.tick();
  EXPECT_NE(n.said.find("rank 2 (pid 0 on host) was ended by SIGSEGV"), std::string::npos) << n.said;
}

TEST(Controller, RequeuesAndGivesUpOnABrokenDevice) {
  Nodes n({});
  n.did(3);
  n.ends({.rank = 0, .code = 85, .iteration = 3});
  EXPECT_TRUE(n.tick().empty()) << "the others may be saving";
  n.ends({.rank = 1, .code = 85, .iteration = 3});
  n.expect_end(85, "");
  Nodes broken({});
  broken.did(3);
  broken.ends({.rank = 0, .code = 17, .iteration = 3});
  broken.ends({.rank = 1, .code = 75, .iteration = 3});
  broken.expect_end(17, "rank 0");
}

TEST(Controller, EndsACrashLoopAfterThreeStartsWithoutANewIteration) {
  Nodes n({});
  n.did(10);
  n.crash(10);
  for (int k = 0; k < 3; ++k) {
    EXPECT_FALSE(n.controller().verdict()) << k;
    n.tick();
    n.did(10);  // the same iteration again: no progress
    n.crash(10);
  }
  n.expect_end(93, "3 starts without a new iteration");
  EXPECT_EQ(n.starts(), 4);
}

TEST(Controller, CountsProgressByTheStepsAskedFor) {
  Nodes n({.min_progress = 5});
  for (i64 at = 4; at <= 12; at += 4) {  // four iterations per start are not enough
    n.tick();
    n.did(at);
    n.crash(at);
  }
  EXPECT_FALSE(n.controller().verdict()) << "the first, from nothing, did enough";
  n.tick();
  n.did(16);
  n.crash(16);
  n.expect_end(93, "");
}

TEST(Controller, ForgetsRestartsOfLongAgo) {
  Nodes n({.max_restarts = 2, .window_seconds = 60});
  i64 at = 0;
  for (const double when : {1.0, 2.0, 70.0, 75.0}) {
    n.now = when;
    n.tick();
    n.did(++at);
    n.crash(at);
    EXPECT_FALSE(n.controller().verdict()) << when;
  }
  n.now = 76;
  n.tick();
  n.did(++at);
  n.crash(at);
  n.expect_end(1, "--max-restarts");
}

TEST(Controller, EndsAGenerationInWhichNothingMoves) {
  Nodes n({.hang_seconds = 5});
  n.now = 100;
  EXPECT_TRUE(n.tick().empty()) << "before the first step nothing is known";
  n.did(3);
  n.now = 104;
  n.did(-1);  // progress inside a step
  n.now = 108;
  EXPECT_TRUE(n.tick().empty());
  n.now = 109.5;
  const auto orders = n.tick();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_TRUE(orders[0].second.is_hang);
  EXPECT_EQ(orders[0].second.grace, 0);
  for (const int r : {0, 1}) n.ends({.rank = r, .signal = 9, .is_brought_down = true, .iteration = 3});
  n.tick();
  n.tick();
  EXPECT_EQ(n.starts(), 2);
  EXPECT_NE(n.said.find("no rank made progress for 5 s"), std::string::npos) << n.said;
}

TEST(Controller, LearnsHowLongItMayBeQuiet) {
  Nodes n({.learns_hang = true});
  n.now = 1;
  for (i64 i = 1; i <= 3; ++i) n.now += 0.1, n.did(i);
  n.now += 1.9;
  EXPECT_TRUE(n.tick().empty());
  n.now += 0.2;
  const auto orders = n.tick();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_TRUE(orders[0].second.is_hang);
  for (const int r : {0, 1}) n.ends({.rank = r, .signal = 9, .is_brought_down = true, .iteration = 3});
  n.tick();
  EXPECT_NE(n.said.find("no rank made progress for 2 s"), std::string::npos) << n.said;
}

// The agents kill all ranks. The silent one is the cause.
TEST(Controller, EndsAGenerationWithASilentRank) {
  Nodes n({});
  n.did(3);
  const Report sent{.kind = Report::Kind::silent, .generation = 1, .silent_rank = 1};
  n.controller().take(0, report_from(text_of(sent)), n.now);
  const auto orders = n.tick();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_TRUE(orders[0].second.is_hang);
  EXPECT_EQ(orders[0].second.grace, 0);
  for (const int r : {0, 1}) n.ends({.rank = r, .signal = 9, .is_brought_down = true, .iteration = 3});
  n.tick();
  n.tick();
  EXPECT_EQ(n.starts(), 2);
  EXPECT_NE(n.said.find("rank 1 (pid 0 on host) was silent (stopped, or cut off) after iteration 3: restart 1"),
            std::string::npos)
      << n.said;
  n.did(4);
  n.crash(4);  // nothing is left of it in the next generation
  EXPECT_NE(n.said.find("was ended by SIGKILL after iteration 4"), std::string::npos) << n.said;
}

TEST(Controller, EndsAsItWasToldTo) {
  Nodes saved({});
  saved.did(3);
  saved.controller().told_to_end(15);
  for (const int r : {0, 1}) saved.ends({.rank = r, .iteration = 3});
  saved.expect_end(0, "");
  Nodes unsaved({});
  unsaved.controller().told_to_end(15);
  for (const int r : {0, 1}) unsaved.ends({.rank = r, .code = 143});
  unsaved.expect_end(143, "SIGTERM");
  EXPECT_EQ(unsaved.starts(), 1);
  Nodes failed({});
  failed.did(3);
  failed.controller().told_to_end(15);
  failed.ends({.rank = 0, .code = 1, .iteration = 3, .last_line = "the disk is full"});
  failed.ends({.rank = 1, .code = 75, .iteration = 3});
  failed.expect_end(1, "the disk is full");
}

TEST(Controller, WaitsForANodeThatIsGoneAndStartsWithItAgain) {
  Nodes n({}, {1, 1});
  n.did(4);
  n.now = 10;
  n.controller().lost(1, n.now);
  n.ends({.rank = 0, .code = 75, .iteration = 4});
  n.tick();
  n.now = 40;
  n.tick();
  EXPECT_EQ(n.starts(), 2);  // one start of each node
  n.hello(1, 1, 1);
  n.tick();
  EXPECT_EQ(n.starts(), 4);
  EXPECT_EQ(n.controller().generation(), 2);
  n.controller().lost(1, n.now);
  n.ends({.rank = 0, .code = 75, .iteration = 4});
  n.tick();
  n.now = 101;
  n.tick();
  EXPECT_TRUE(n.controller().verdict());
  n.expect_end(1, "node 1 did not come within 60 s");
}

TEST(Controller, TellsOnceWhichNodesItWaitsFor) {
  for (const bool is_elastic : {false, true}) {
    Controller c(
        {.nodes = 3, .least_nodes = is_elastic ? 1 : 0}, [] { return std::pair("host-0", 1234); },
        [](int ranks) { return World(ranks); });
    c.take(0, {.kind = Report::Kind::hello, .host = "host", .ranks = 1}, 0);
    for (const double now : {0.0, 4.9}) {
      c.tick(now);
      EXPECT_TRUE(c.lines().empty()) << now;
    }
    c.tick(5);
    EXPECT_EQ(c.lines(), std::vector<std::string>{is_elastic ? "node 1, 2 is not here yet: waiting 10 s for it, then "
                                                               "fewer nodes start"
                                                             : "node 1, 2 is not here yet: waiting 600 s for it"});
    c.tick(9);
    EXPECT_TRUE(c.lines().empty());
  }
}

TEST(Controller, LetsASpareNodeTakeOver) {
  Nodes n({.spares = 1}, {2, 2, 2});
  ASSERT_EQ(n.starts(), 3);
  EXPECT_EQ(n.orders()[0].second.world, 4);
  EXPECT_EQ(n.orders()[2].second.ranks, 0);
  n.did(4);
  n.controller().lost(1, 1);
  for (const int r : {0, 1}) n.ends({.rank = r, .code = 75, .iteration = 4});
  n.tick(), n.tick();
  ASSERT_EQ(n.starts(), 5);
  EXPECT_NE(n.said.find("node 1 (host) is lost: a spare node takes over"), std::string::npos) << n.said;
  const Order last = n.orders().back().second;
  EXPECT_EQ(n.orders().back().first, 2);
  EXPECT_EQ(last.first_rank, 2);
  EXPECT_EQ(last.ranks, 2);
  n.hello(1, 2, 1);
  n.did(5);
  n.crash(5);
  for (const int r : {2, 3}) n.ends({.rank = r, .code = 75, .iteration = 5}, 2);
  n.tick(), n.tick();
  ASSERT_EQ(n.starts(), 8);
  EXPECT_EQ(n.orders()[n.orders().size() - 2].second.ranks, 0) << "node 1 is a spare node now";
  EXPECT_EQ(n.orders().back().second.ranks, 2);
  n.controller().lost(1, 2);
  n.controller().lost(2, 2);
  n.tick();
  EXPECT_NE(n.said.find("node 1 (host) is lost: it was a spare node"), std::string::npos) << n.said;
  EXPECT_NE(n.said.find("node 2 (host) is lost: waiting 60 s"), std::string::npos) << n.said;
}

Report hello_with(i64 generation, int first, int ranks, int world) {
  const Order runs{.generation = generation,
                   .first_rank = first,
                   .ranks = ranks,
                   .world = world,
                   .layout = "--x 2",
                   .past = {.furthest = 8, .begin = 4, .restarts = 2, .without_progress = 1}};
  return {.kind = Report::Kind::hello, .generation = generation, .host = "host", .ranks = ranks, .runs = runs};
}

TEST(Controller, TakesOverRanksThatRun) {
  Controller fresh({.nodes = 2, .max_restarts = 3}, [] { return std::pair("host", 1); });
  const auto ends = [&](int node, const Exit& e) {
    fresh.take(node, {.kind = Report::Kind::exited, .generation = 7, .exit = e}, 3);
  };
  fresh.take(1, report_from(text_of(hello_with(7, 1, 2, 3))), 0);
  fresh.tick(0);
  EXPECT_TRUE(fresh.lines().empty()) << "a rank is missing";
  fresh.take(0, hello_with(7, 0, 1, 3), 1);
  fresh.tick(1);
  EXPECT_TRUE(fresh.orders().empty());
  const std::vector<std::string> lines = fresh.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "a new controller has taken over 3 ranks of generation 7");
  fresh.tick(2);
  EXPECT_TRUE(fresh.orders().empty()) << "nothing starts";
  ends(1, {.rank = 2, .signal = 9, .iteration = 9});
  fresh.tick(3);
  ASSERT_EQ(fresh.orders().size(), 2u) << "a stop of each node";
  for (const int r : {0, 1}) ends(r, {.rank = r, .code = 75, .iteration = 9});
  fresh.tick(3), fresh.tick(3);
  const auto orders = fresh.orders();
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].second.kind, Order::Kind::start);
  EXPECT_EQ(orders[0].second.generation, 8);
  EXPECT_EQ(orders[0].second.past.restarts, 3) << "two of the former controller";
  EXPECT_NE(fresh.lines()[0].find("restart 3 of 3"), std::string::npos);
}

// An agent says at once what has happened without a controller. The other agent may come later.
TEST(Controller, TakesOverRanksOfWhichSomeHaveEnded) {
  Controller fresh({.nodes = 2}, [] { return std::pair("host", 1); });
  const auto ends = [&](int node, const Exit& e) {
    fresh.take(node, {.kind = Report::Kind::exited, .generation = 7, .exit = e}, 3);
  };
  fresh.take(1, hello_with(7, 1, 2, 3), 0);
  ends(1, {.rank = 2, .signal = 9, .iteration = 9});
  fresh.tick(0);
  ends(1, {.rank = 1, .code = 75, .iteration = 9});
  fresh.take(0, hello_with(7, 0, 1, 3), 1);
  ends(0, {.rank = 0, .code = 75, .iteration = 9});
  fresh.tick(1), fresh.tick(1);
  const auto orders = fresh.orders();
  ASSERT_FALSE(orders.empty());
  EXPECT_EQ(orders.back().second.kind, Order::Kind::start);
  EXPECT_EQ(orders.back().second.generation, 8);
  const std::vector<std::string> lines = fresh.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines.back().find("rank 2 (pid 0 on ) was ended by SIGKILL after iteration 9: restart 3"),
            std::string::npos)
      << lines.back();
}

TEST(Controller, DoesNotTakeOverRanksOfWhichSomeAreLost) {
  Controller fresh({.nodes = 2}, [] { return std::pair("host", 1); });
  fresh.take(1, hello_with(7, 1, 2, 3), 0);
  fresh.take(0, {.kind = Report::Kind::hello, .ranks = 1}, 0);
  fresh.tick(0);
  const auto orders = fresh.orders();
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].second.generation, 8);
}

TEST(Controller, GoesOnCountingGenerationsWhereAnotherControllerWas) {
  Controller fresh({.nodes = 2}, [] { return std::pair("host", 1); });
  fresh.take(0, {.kind = Report::Kind::hello, .ranks = 1}, 0);
  fresh.take(1, {.kind = Report::Kind::hello, .generation = 7, .ranks = 1}, 0);
  fresh.tick(0);
  EXPECT_EQ(fresh.generation(), 8);
}

}  // namespace
}  // namespace megalith::launch
