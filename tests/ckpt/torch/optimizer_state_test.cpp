// Megatron's optimizer state in all supported forms, in files that PyTorch has written: each number is in the right
// position, or the whole state is refused.
#include <nlohmann/json.hpp>

#include "ckpt/any_checkpoint.h"
#include "ckpt/torch/buckets.h"
#include "ckpt/torch/optimizer_state.h"
#include "tests/ckpt/torch/megatron_files.h"
#include "tests/ckpt/torch/python.h"
#include "tests/ckpt/torch/sha256.h"

namespace megalith {
namespace {

std::vector<float> values(const TensorReader& reader, const std::string& name) {
  const std::size_t i = reader.at(name);
  std::vector<float> out(std::size_t(count(reader.tensors()[i].shape)));
  reader.read_range_as(i, 0, i64(out.size()), DType::f32, std::as_writable_bytes(std::span(out)).data());
  return out;
}

class OptimizerState : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!python_has("torch, numpy, safetensors")) GTEST_SKIP() << python() << " has no torch, numpy and safetensors";
  }

  // Writes checkpoints as the arguments after the model and the directory specify; returns the arguments.
  std::vector<std::string> write(const std::string& script,
                                 const std::vector<std::pair<std::string, std::string>>& jobs) {
    std::vector<std::string> arguments, saves;
    for (const auto& [name, words] : jobs) {
      if (!arguments.empty()) arguments.push_back("--");
      saves.push_back(dir_ / fmt::format("{}_{}", script, saves.size()));
      arguments.insert(arguments.end(), {fixture(name), saves.back(), words});
    }
    EXPECT_EQ(run_python(script, arguments, dir_ / "log"), "");
    return saves;
  }

  // Weights, main values and moments equal those that the script saved, each as a model directory.
  void expect_state(const std::string& save, const std::string& what, const std::string& main = "param") {
    SCOPED_TRACE(what);
    const AnyCheckpoint c = open_any_checkpoint(save);
    EXPECT_EQ(c.state_problem, "");
    EXPECT_TRUE(is_being_read(c.path));
    ASSERT_TRUE(c.has_optimizer());
    const auto state = nlohmann::json::parse(c.manifest.state_json);
    EXPECT_EQ(state["optimizer_steps"], 2);
    std::size_t compared = 0;
    for (const auto& [kind, prefix] : {std::pair(main.c_str(), ""), std::pair("exp_avg", "optimizer.exp_avg."),
                                       std::pair("exp_avg_sq", "optimizer.exp_avg_sq.")}) {
      const AnyCheckpoint expected = open_any_checkpoint(save + "/" + kind);
      for (const TensorSpec& t : expected.tensors->tensors()) {
        ASSERT_TRUE(c.tensors->find(prefix + t.name)) << prefix + t.name;
        EXPECT_TRUE(values(*c.tensors, prefix + t.name) == values(*expected.tensors, t.name)) << prefix + t.name;
        ++compared;
      }
    }
    EXPECT_EQ(c.tensors->tensors().size(), compared);
  }

  void expect_problem(const std::string& save, const std::string& part) {
    const AnyCheckpoint c = open_any_checkpoint(save);
    EXPECT_FALSE(c.has_optimizer());
    EXPECT_NE(c.state_problem.find(part), std::string::npos) << c.state_problem;
    EXPECT_NE(c.state_problem.find("--dist-ckpt-optim-fully-reshardable"), std::string::npos) << c.state_problem;
    EXPECT_EQ(c.state_problem.find('\n'), std::string::npos) << c.state_problem;
    EXPECT_TRUE(c.tensors->find("embedding.word_embeddings.weight"));
  }

  TempDir dir_;
};

TEST_F(OptimizerState, of_torch_by_numbers_and_flat) {
  std::vector<std::pair<std::string, std::string>> jobs = {{"llama", "1,1,2 float16"},
                                                           {"llama", "1,1,2,5 distributed:300"}};
  for (const char* kind : {" float16", " float32", " distributed", " distributed:300"})
    for (const auto& [name, shape] :
         {std::pair("qwen2", "2,2,1"), std::pair("llama", "1,2,1,5"), std::pair("llama", "2,1,1,9")})
      jobs.emplace_back(name, std::string(shape) + kind);
  const std::vector<std::string> saves = write("write_megatron.py", jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) expect_state(saves[i], jobs[i].first + " " + jobs[i].second);
}

TEST_F(OptimizerState, of_torch_dist_in_buckets) {
  const std::vector<std::pair<std::string, std::string>> jobs = {
      {"qwen2", "2,2,1,9 2 300"},       {"llama", "1,2,1 3 0"},       {"llama", "2,1,1 1 300"},
      {"qwen2", "1,1,1,5 5 60"},        {"llama", "2,1,2,9 2 300"},   {"llama", "1,2,1,5 3 0 local"},
      {"qwen2", "2,2,1,9 2 300 local"}, {"qwen2", "1,1,1 4 60 local"}};
  const std::vector<std::string> saves = write("write_dp_reshardable.py", jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) expect_state(saves[i], jobs[i].first + " " + jobs[i].second);
}

TEST_F(OptimizerState, that_does_not_fit_is_not_taken) {
  auto saves = write("write_megatron.py", {{"qwen2", "2,1,1 distributed"}, {"qwen2", "2,1,1 distributed:300:other"}});
  const auto file = [&](int rank) {
    return fmt::format("{}/iter_0000003/mp_rank_{:02}/distrib_optim.pt", saves[0], rank);
  };
  fs::remove(file(0));
  expect_problem(saves[0], "mp_rank_00/distrib_optim.pt is missing");
  fs::copy(file(1), file(0));
  expect_problem(saves[0], "its main values of ");
  expect_problem(saves[1], "its buffer has ");
  // Two ranks' buckets under each other's names, and a bucket that is too short.
  saves = write("write_dp_reshardable.py", {{"qwen2", "2,1,1 2 300 swapped"}, {"qwen2", "2,1,1 2 300 short"}});
  expect_problem(saves[0], "its main values of ");
  expect_problem(saves[1], "no number of layers fills the buckets of pipeline rank 0, model chunk 0");
}

// State with parameter names (fully_reshardable): complete and for these weights, or refused.
TEST(NamedState, is_whole_and_of_the_weights) {
  const std::string fc2 = "decoder.layers.mlp.linear_fc2.weight";
  const auto open_with = [](const std::string& main, const std::string& missing, const std::string& other) {
    TempDir dir;
    const std::vector<std::string> kinds = {main, "exp_avg", "exp_avg_sq"};
    write_megatron_files(dir.path(), {.edit =
                                          [&](std::vector<NamedShape>& tensors) {
                                            const std::vector<NamedShape> weights = tensors;
                                            for (const std::string& kind : kinds)
                                              for (const NamedShape& w : weights)
                                                if (kind + "." + w.name != missing)
                                                  tensors.push_back({kMegatronState + kind + "." + w.name, w.shape});
                                          },
                                      .other = fmt::format("{}{}", kMegatronState, other)});
    return open_any_checkpoint(dir.path());
  };
  for (const std::string main : {"param", "fp32_param"}) {
    for (const std::string& kind : {main, std::string("exp_avg"), std::string("exp_avg_sq")}) {
      const std::string missing = kind + "." + fc2;
      const AnyCheckpoint c = open_with(main, missing, "");
      EXPECT_FALSE(c.has_optimizer());
      EXPECT_EQ(c.state_problem, "its optimizer state can't be taken, as it has no optimizer.state." + missing +
                                     ": load another checkpoint");
    }
    const AnyCheckpoint c = open_with(main, "", main + "." + fc2);
    EXPECT_FALSE(c.has_optimizer());
    EXPECT_EQ(c.state_problem, "its optimizer state can't be taken, as its main values of " + fc2 +
                                   " are not the weights: load another checkpoint");
    EXPECT_TRUE(open_with(main, "", "exp_avg." + fc2).has_optimizer());
  }
}

// By hand: 100 + 10 + 130 elements, from the last to the first.
TEST(Buckets, begin_at_multiples_of_64) {
  const std::vector<BucketParam> params = {{100}, {10}, {130}};
  const auto places = [](const BucketLayout& l) {
    std::vector<std::pair<std::size_t, i64>> out;
    for (const BucketPlace& p : l.places) out.emplace_back(p.bucket, p.start);
    return out;
  };
  using Places = std::vector<std::pair<std::size_t, i64>>;
  const auto one = lay_out_buckets(params, [](std::size_t, i64) { return false; });
  EXPECT_EQ(one.sizes, std::vector<i64>{356});
  EXPECT_EQ(places(one), (Places{{0, 256}, {0, 192}, {0, 0}}));
  const auto two = lay_out_buckets(params, [](std::size_t, i64 size) { return size >= 150; });
  EXPECT_EQ(two.sizes, (std::vector<i64>{202, 100}));
  EXPECT_EQ(places(two), (Places{{1, 0}, {0, 192}, {0, 0}}));
  // A large parameter alone ends the previous bucket.
  const std::vector<BucketParam> shared = {{100, true}, {10}, {130}};
  const auto alone = lay_out_buckets(shared, [](std::size_t, i64) { return false; });
  EXPECT_EQ(alone.sizes, (std::vector<i64>{256, 100}));
  EXPECT_EQ(places(alone), (Places{{1, 0}, {0, 192}, {0, 0}}));
}

}  // namespace
}  // namespace megalith
