// Sessions as ranks of a pipeline, of parts of sequences and of experts: the bits of the command on as many ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/embed/beside_command.h"

namespace megalith {
namespace {

constexpr i64 kRankSamples = 48;
const std::string kRankFlags =
    "--device cpu --num-layers 4 --hidden-size 16 --num-attention-heads 2 --seq-length 8 --micro-batch-size 2 "
    "--global-batch-size 8 --train-iters 6 --vocab-size 24 --lr 0.01 --lr-decay-style cosine --lr-warmup-iters 2 "
    "--seed 5 --distributed-timeout-minutes 2 ";

// Sums over parts of a sequence have other last bits by another number of threads.
const std::string kOneThread = "export OMP_NUM_THREADS=1";

struct RankCase {
  const char* name;
  int ranks;
  const char* flags;
};

class RankSessions : public testing::TestWithParam<RankCase> {
 protected:
  void SetUp() override { std::filesystem::create_directories(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  // The numbers that each rank printed.
  std::vector<std::vector<double>> sessions(int ranks, const std::string& batches, const std::string& flags) const {
    const std::string port = std::to_string(free_port());
    std::string all = kOneThread + "; pids=";
    const auto out = [&](int rank) { return quoted(dir_ + "/out" + std::to_string(rank)); };
    for (int rank = 0; rank < ranks; ++rank)
      all += std::string("; ") + SESSION_RANK + " " + std::to_string(rank) + " " + std::to_string(ranks) + " " + port +
             " " + quoted(batches) + " " + quoted(dir_ + "/saves") + " " + flags + " > " + out(rank) +
             " & pids=\"$pids $!\"";
    output_of(all + "; for p in $pids; do wait $p || exit 1; done");
    std::vector<std::vector<double>> told(static_cast<size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      std::ifstream in(dir_ + "/out" + std::to_string(rank));
      for (double x; in >> x;) told[size_t(rank)].push_back(x);
    }
    return told;
  }

  const std::string dir_ = testing::TempDir() + "megalith-ranks-" + std::to_string(getpid());
};

TEST_P(RankSessions, TrainAsTheCommandDoes) {
  const std::string batches = dir_ + "/batches", flags = kRankFlags + GetParam().flags;
  write_command_batches(batches, kRankFlags, kRankSamples);
  output_of(kOneThread + "; " + COMMAND + " launch --nproc-per-node " + std::to_string(GetParam().ranks) +
            " -- pretrain-gpt " + flags + " --mock-data --eval-iters 0 --log-interval 1 --save " +
            quoted(dir_ + "/command") + " --save-interval 6 --metrics-file " + quoted(dir_ + "/metrics"));
  const std::vector<double> expected = losses_in(dir_ + "/metrics");
  ASSERT_EQ(expected.size(), 6u);
  const auto told = sessions(GetParam().ranks, batches, flags);
  for (const std::vector<double>& rank : told) {
    ASSERT_EQ(rank.size(), 8u);
    EXPECT_EQ(std::vector<double>(rank.begin(), rank.begin() + 6), expected);
    EXPECT_EQ(rank, told[0]);
    EXPECT_GT(rank[6], 1);  // an evaluation has a loss on all ranks, near that of the last step
    EXPECT_NEAR(rank[6], expected[5], 0.3);
  }
  expect_same_checkpoint(dir_ + "/command", dir_ + "/saves", 6);
}

constexpr const char* kExperts =
    "--num-experts 4 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 0.01 "
    "--expert-model-parallel-size 2 ";

INSTANTIATE_TEST_SUITE_P(
    Layouts, RankSessions,
    testing::Values(RankCase{"pipeline", 2, "--pipeline-model-parallel-size 2"},
                    RankCase{"context", 2, "--context-parallel-size 2"}, RankCase{"experts", 2, kExperts},
                    RankCase{"interleaved_and_context", 4,
                             "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1 "
                             "--context-parallel-size 2"},
                    RankCase{"pipeline_and_data", 4, "--pipeline-model-parallel-size 2 --use-distributed-optimizer"},
                    RankCase{"untied_pipeline_and_tensor", 4,
                             "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 "
                             "--untie-embeddings-and-output-weights"}),
    [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace megalith
