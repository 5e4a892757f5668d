// Runs lose nodes and regain them. The number of data-parallel ranks falls and rises. Samples and losses must stay the
// same.
#include <signal.h>

#include <cmath>
#include <fstream>
#include <map>

#include "launched_training.h"

namespace megalith::test {
namespace {

constexpr int kBatch = 12;  // a multiple of 4, 3 and 2 ranks

// The metrics of each iteration. If an iteration ran several times, the last line counts.
struct Told {
  double loss = 0;
  int samples = 0;
};
std::map<int, Told> metrics_in(const std::string& path) {
  std::map<int, Told> all;
  std::istringstream in(text_of_file(path));
  for (std::string line; std::getline(in, line);) {
    const auto value = [&](const std::string& name) {
      const size_t at = line.find("\"" + name + "\":");
      return at == std::string::npos ? NAN : std::atof(line.c_str() + at + name.size() + 3);
    };
    if (!line.ends_with('}')) continue;  // written by a rank that was killed during the write
    all[int(value("iteration"))] = {value("lm_loss"), int(value("consumed_samples"))};
  }
  return all;
}

class Elastic : public LaunchedTraining {
 protected:
  std::vector<std::string> command(const std::string& name, const std::string& more) const {
    std::istringstream line(
        "--device cpu --num-layers 2 --hidden-size 32 --num-attention-heads 2 --seq-length 16 --micro-batch-size 1 "
        "--lr 1e-3 --lr-decay-style constant --mock-data --split 1,49,50 --vocab-size 50 --eval-iters 0 "
        "--log-interval 1 --train-iters 100000 --global-batch-size " +
        std::to_string(kBatch) + " " + more);
    std::vector<std::string> words{"--",     "pretrain-gpt", "--metrics-file", *this / name + ".jsonl",
                                   "--save", *this / name,   "--load",         *this / name};
    for (std::string word; line >> word;) words.push_back(word);
    return words;
  }
  LaunchRun& node(int rank, const std::string& more) {
    const std::string endpoint = "127.0.0.1:" + std::to_string(held_.port);
    std::vector<std::string> flags{"--nnodes",
                                   nodes_,
                                   "--node-rank",
                                   std::to_string(rank),
                                   "--rdzv-endpoint",
                                   endpoint,
                                   "--nproc-per-node",
                                   ranks_,
                                   "--node-wait-seconds",
                                   "2",
                                   "--snapshot-steps",
                                   "2",
                                   "--snapshot-replicas",
                                   std::to_string(replicas_)};
    flags.insert(flags.end(), flags_.begin(), flags_.end());
    return start(flags, command("elastic", more));
  }
  int done() const {
    const auto all = metrics_in(*this / "elastic.jsonl");
    return all.empty() ? 0 : all.rbegin()->first;
  }
  // Waits until a generation with this many ranks has completed some steps.
  void expect_generation(LaunchRun& first, int generation, int ranks) {
    const std::string line = "generation " + std::to_string(generation) + " starts " + std::to_string(ranks) + " of ";
    ASSERT_TRUE(first.wait_until([&] { return first.err().find(line) != std::string::npos; })) << line << first.err();
    const int before = done();
    ASSERT_TRUE(first.wait_until([&] { return done() > before + 5; })) << first.err() << first.out();
  }
  void lose_and_get_back(const std::string& more) {
    LaunchRun& first = node(0, more);
    node(1, more);
    LaunchRun &third = node(2, more), &fourth = node(3, more);
    expect_generation(first, 1, 4);
    kill(fourth.pid(), SIGKILL);
    expect_generation(first, 2, 3);
    kill(third.pid(), SIGKILL);
    expect_generation(first, 3, 2);
    LaunchRun &again = node(2, more), &too = node(3, more);
    expect_full_again(first);
    EXPECT_EQ(again.end().code, 0);
    EXPECT_EQ(too.end().code, 0);
  }
  void expect_full_again(LaunchRun& first) {
    const auto grown = [&] { return count_of(first.err(), " starts 4 of 4 available ranks") == 2; };
    ASSERT_TRUE(first.wait_until(grown)) << first.err();
    const int before = done();
    ASSERT_TRUE(first.wait_until([&] { return done() > before + 5; })) << first.err();
    kill(first.pid(), SIGTERM);
    one_ = first.end();
    EXPECT_EQ(one_.code, 0) << one_.err;
  }
  // Each sample is read once, in the same order. Otherwise some loss would differ.
  void expect_same_losses(const std::string& more) {
    const int last = saved("elastic");
    ASSERT_GT(last, 15);  // at least three generations of six iterations
    const Ended whole =
        start({"--standalone"}, command("whole", more + " --exit-interval " + std::to_string(last))).end();
    ASSERT_EQ(whole.code, 0) << whole.err;
    const std::map<int, Told> is = metrics_in(*this / "elastic.jsonl"), want = metrics_in(*this / "whole.jsonl");
    ASSERT_EQ(want.size(), size_t(last));
    for (const auto& [iteration, told] : want) {
      const auto it = is.find(iteration);
      ASSERT_NE(it, is.end()) << iteration;
      EXPECT_EQ(it->second.samples, kBatch * iteration);
      EXPECT_NEAR(it->second.loss, told.loss, 1e-5 * told.loss) << iteration;
    }
  }

  const Listener held_ = hold_port("127.0.0.1");
  int replicas_ = 0;
  std::string nodes_ = "2:4", ranks_ = "1";  // --nnodes, --nproc-per-node
  std::vector<std::string> flags_;
  Ended one_;
};

// The remaining ranks hold the whole state.
TEST_F(Elastic, GoesOnFromTheSnapshotsOfTheNodesThatAreLeft) {
  const std::string more = "--save-interval 1000000";
  lose_and_get_back(more);
  EXPECT_EQ(count_of(one_.out, "resumes from the snapshot"), 2) << one_.out << one_.err;
  expect_same_losses(more);
}

// Each rank has a part of the optimizer's state. The lost rank's part is only on disk.
TEST_F(Elastic, GoesOnFromTheDiskWhereALostNodeHadTheRest) {
  const std::string more = "--use-distributed-optimizer --save-interval 3 --most-recent-k 2";
  lose_and_get_back(more);
  EXPECT_EQ(count_of(one_.out, "resumes from the snapshot"), 0) << one_.out << one_.err;
  expect_same_losses(more);
}

// Another node has a copy of the lost part. The ranks read the copy and use it in their new layout.
TEST_F(Elastic, GoesOnFromCopiesOnOtherNodes) {
  replicas_ = 1;
  const std::string more = "--use-distributed-optimizer --save-interval 1000000";
  lose_and_get_back(more);
  EXPECT_EQ(count_of(one_.out, "resumes from the snapshot"), 2) << one_.out << one_.err;
  expect_same_losses(more);
}

// One node has too few ranks for the layout, so its ranks start with fewer pipeline stages. They read the copies of the
// other node's snapshots.
TEST_F(Elastic, ChoosesAnotherLayoutIfTooFewRanksAreLeft) {
  replicas_ = 1, nodes_ = "1:2", ranks_ = "2";
  flags_ = {"--elastic-layouts", "auto"};
  const std::string more = "--save-interval 1000000";
  const std::string layout = more + " --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2";
  LaunchRun &first = node(0, layout), &second = node(1, layout);
  expect_generation(first, 1, 4);
  kill(second.pid(), SIGKILL);
  expect_generation(first, 2, 2);
  EXPECT_NE(first.err().find("starts 2 of 2 available ranks with --pipeline-model-parallel-size 1\n"),
            std::string::npos)
      << first.err();
  LaunchRun& again = node(1, layout);
  expect_full_again(first);
  EXPECT_EQ(again.end().code, 0);
  EXPECT_EQ(count_of(one_.out, "resumes from the snapshot"), 1) << one_.out << one_.err;
  expect_same_losses(more);
}

TEST_F(Elastic, RefusesALayoutOfAnotherRun) {
  const auto error_of = [&](const std::string& text) {
    std::ofstream(*this / "layouts") << text;
    const Ended e = start({"--standalone", "--min-ranks", "1", "--elastic-layouts", *this / "layouts"},
                          command("elastic", "--tensor-model-parallel-size 2"))
                        .end();
    EXPECT_EQ(e.code, 1);
    return e.last_line();
  };
  EXPECT_NE(error_of("# none\n\n").find("has no layout"), std::string::npos);
  EXPECT_NE(error_of("\n--tensor-model-parallel-size 3").find("--num-attention-heads 2 is not a multiple"),
            std::string::npos);
  EXPECT_NE(error_of("--num-layers 4").find("must not change the model"), std::string::npos);
  EXPECT_NE(error_of("--global-batch-size 8").find("must not change --global-batch-size 12"), std::string::npos);
  std::filesystem::remove(*this / "layouts");
  const Ended e =
      start({"--standalone", "--min-ranks", "1", "--elastic-layouts", *this / "layouts"}, command("elastic", "")).end();
  EXPECT_NE(e.last_line().find("this file cannot be read"), std::string::npos) << e.err;
}

}  // namespace
}  // namespace megalith::test
