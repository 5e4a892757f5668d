// Tests of a mixture's log: losses of its router and of multi-token prediction, and the load of its experts.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <vector>

#include "workshop.h"

namespace megalith::test {
namespace {

constexpr i64 kExperts = 4, kTopk = 2, kBatch = 4, kSequence = 32;

class Mixture : public Workshop {
 protected:
  // Runs two steps and logs both. A micro-batch has one sequence, so all ranks have equal micro-batches.
  std::string run(const std::string& name, const std::string& more) {
    return pretrain(
        "--train-iters 2 --log-interval 1 --micro-batch-size 1 --global-batch-size 4 --position-embedding-type rope "
        "--normalization RMSNorm --swiglu --disable-bias-linear --num-experts 4 --moe-ffn-hidden-size 16 "
        "--moe-router-load-balancing-type aux_loss seq_aux_loss --moe-aux-loss-coeff 0.1 0.2 --moe-z-loss-coeff 0.01 "
        "--mtp-num-layers 1 --eval-iters 0 --log-expert-load --moe-per-layer-logging "
        "--save-tokens-per-expert-interval 2 --save-interval 100 --save " +
        *this / name + " --metrics-file " + *this / name + ".jsonl " + more);
  }
  std::vector<nlohmann::json> lines(const std::string& path) {
    std::vector<nlohmann::json> out;
    std::istringstream in(slurp(path));
    for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
    return out;
  }
  std::vector<nlohmann::json> tokens(const std::string& name) {
    return lines(*this / name + "/tokens_per_expert/rank0.jsonl");
  }
};

double largest_over_mean(const std::vector<double>& x) {
  return *std::ranges::max_element(x) * double(x.size()) / std::accumulate(x.begin(), x.end(), 0.0);
}

TEST_F(Mixture, TellsLossesAndLoads) {
  const Ran ran = must(run("one", ""));
  for (const char* name : {"load_balancing_loss", "seq_load_balancing_loss", "z_loss", "mtp_1 loss", "expert load"})
    EXPECT_NE(ran.out.find(std::string(" | ") + name + ": "), std::string::npos) << name << "\n" << ran.out;
  const nlohmann::json last = lines(*this / "one.jsonl").back();
  for (const char* loss : {"load_balancing_loss", "seq_load_balancing_loss", "z_loss"}) {
    double sum = 0;
    for (int layer = 0; layer < 3; ++layer)  // the third is of multi-token prediction
      sum += last.at(fmt::format("moe/{}_layer_{}", loss, layer)).get<double>();
    EXPECT_NEAR(sum / 3, last.at(loss).get<double>(), 1e-6 * std::abs(sum)) << loss;
  }
  EXPECT_GE(last.at("load_balancing_loss").get<double>(), 0.9);  // 1 if experts are balanced

  const auto told = tokens("one");  // only of the second iteration
  ASSERT_EQ(told.size(), 3u);
  double fullest = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(told[i].at("iter"), 2);
    EXPECT_EQ(told[i].at("block"), i < 2 ? "decoder" : "mtp");
    EXPECT_EQ(told[i].at("layer"), i < 2 ? i : 0);
    const auto counts = told[i].at("tpe").at(0).get<std::vector<double>>();
    ASSERT_EQ(counts.size(), size_t(kExperts));
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0.0), double(kBatch * kSequence * kTopk));
    EXPECT_DOUBLE_EQ(last.at(fmt::format("moe/expert_load_layer_{}", i)).get<double>(), largest_over_mean(counts));
    fullest = std::max(fullest, largest_over_mean(counts));
  }
  EXPECT_DOUBLE_EQ(last.at("expert_load").get<double>(), fullest);
  EXPECT_EQ(last.count("rank_load"), 0u);
  EXPECT_EQ(last.count("dropped_tokens"), 0u);
}

TEST_F(Mixture, TellsTheSameOnSeveralRanks) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun here";
  must(run("one", ""));
  const auto want = lines(*this / "one.jsonl");
  const std::pair<const char*, const char*> kLayouts[] = {
      {"tp", "--tensor-model-parallel-size 2 --sequence-parallel"},
      {"ep", "--expert-model-parallel-size 2"},
      {"cp", "--context-parallel-size 2"},
      {"pp", "--pipeline-model-parallel-size 2"},
      {"vp", "--pipeline-model-parallel-size 2 --num-layers 4 --num-virtual-stages-per-pipeline-rank 2"},
  };
  for (const auto& [name, flags] : kLayouts) {
    const bool deeper = std::string(name) == "vp";
    if (deeper) must(run("deep", "--num-layers 4"));
    const auto same = deeper ? lines(*this / "deep.jsonl") : want;
    const Ran ran = megalith(run(name, flags), {.ranks = 2});
    ASSERT_EQ(ran.exit_code, 0) << name << "\n" << ran.err;
    const auto got = lines(*this / name + ".jsonl");
    ASSERT_EQ(got.size(), same.size());
    // After the first step weights differ by rounding.
    for (const auto& [key, value] : same[0].items())
      if (key.find("loss") != std::string::npos || key.find("load") != std::string::npos)
        EXPECT_NEAR(got[0].at(key).get<double>(), value.get<double>(), 2e-5 * std::abs(value.get<double>()))
            << name << " " << key;
    EXPECT_EQ(got[0].count("rank_load"), std::string(name) == "ep" ? 1u : 0u) << name;
    EXPECT_EQ(tokens(name).size(), deeper ? 5u : 3u) << name;
  }
}

TEST_F(Mixture, GoesOnWithItsFiles) {
  must(run("whole", "--train-iters 4"));
  must(run("parts", "--train-iters 4 --exit-interval 2"));
  const std::string file = *this / "parts/tokens_per_expert/rank0.jsonl";
  spit(file, slurp(file) + "{\"iter\":3,\"block\":\"decoder\"}\n");  // written by a run that got further
  must(run("parts", "--train-iters 4 --load " + *this / "parts"));
  EXPECT_EQ(slurp(file), slurp(*this / "whole/tokens_per_expert/rank0.jsonl"));
}

TEST_F(Mixture, TellsWhatCapacityDrops) {
  must(run("dropping", "--moe-expert-capacity-factor 0.5"));
  const nlohmann::json last = lines(*this / "dropping.jsonl").back();
  double kept = 0;
  for (const nlohmann::json& layer : tokens("dropping"))
    for (const nlohmann::json& n : layer.at("tpe").at(0)) kept += n.get<double>();
  EXPECT_NEAR(last.at("dropped_tokens").get<double>(), 1 - kept / double(3 * kBatch * kSequence * kTopk), 1e-12);
  EXPECT_GT(last.at("dropped_tokens").get<double>(), 0.4);
}

// Only one rank of expert_tensor adds the second bias. So there is a relayout between that parameter and its op.
TEST_F(Mixture, TrainsBiasesInBf16) {
  const auto losses = [&](const std::string& name, const std::string& more, int ranks) {
    const Ran ran = megalith(
        pretrain(fmt::format("--train-iters 6 --log-interval 1 --global-batch-size 4 --position-embedding-type rope "
                             "--num-experts 4 --moe-aux-loss-coeff 1e-2 --eval-iters 0 --metrics-file {} {}",
                             *this / name, more)),
        {.ranks = ranks});
    EXPECT_TRUE(ran.ok()) << ran.err;
    std::vector<double> out;
    for (const auto& line : lines(*this / name)) out.push_back(line.at("lm_loss"));
    return out;
  };
  const auto expect_near = [](const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), 6u);
    ASSERT_EQ(b.size(), 6u);
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(a[i], b[i], 0.02) << i;  // bf16 has 8 bits
  };
  const auto wide = losses("wide", "", 1);
  EXPECT_LT(wide.back(), wide.front() - 0.05);
  expect_near(losses("bf16", "--bf16", 1), wide);
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun here";
  expect_near(losses("etp", "--bf16 --tensor-model-parallel-size 2 --sequence-parallel", 2), wide);
  expect_near(losses("ep", "--bf16 --expert-model-parallel-size 2", 2), wide);
}

// Logging changes no result, and the log has only the requested values.
TEST_F(Mixture, TellingChangesNothing) {
  must(run("told", ""));
  std::string plain = run("plain", "");
  for (const std::string flag :
       {"--log-expert-load ", "--moe-per-layer-logging ", "--save-tokens-per-expert-interval 2 "})
    plain.erase(plain.find(flag), flag.size());
  must(plain);
  auto want = digits(*this / "told.jsonl");
  std::erase_if(want, [](const auto& v) {
    return v.first.find("moe/") != std::string::npos ||
           v.first.find("load_") == std::string::npos && v.first.find("_load") != std::string::npos;
  });
  EXPECT_EQ(digits(*this / "plain.jsonl"), want);
}

}  // namespace
}  // namespace megalith::test
