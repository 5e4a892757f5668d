// Ten steps of a small model of each recipe: by the command, with the recipe's own settings but for the sizes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "recipes/recipe.h"

namespace megalith::test {
namespace {

const char* const kSmall =
    " --num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 64 --seq-length 32 "
    "--max-position-embeddings 32 --micro-batch-size 4 --global-batch-size 4 --train-iters 10 --lr 3e-3 --min-lr 0 "
    "--lr-warmup-iters 0 --lr-decay-iters 10 --init-method-std 0.02 --mock-data --eval-iters 0 --log-interval 1 "
    "--device cpu --no-progress --tensor-model-parallel-size 1";

// What a small model has in place of a size that a recipe sets.
std::string small_size(const std::string& flag, const std::string& value) {
  static const std::map<std::string, std::string> sizes = {{"ffn-hidden-size", "128"},
                                                           {"kv-channels", "16"},
                                                           {"num-experts", "8"},
                                                           {"moe-router-topk", "2"},
                                                           {"moe-ffn-hidden-size", "32"},
                                                           {"moe-shared-expert-intermediate-size", "32"},
                                                           {"moe-layer-freq", "'([0]*1+[1]*1)'"},
                                                           {"moe-router-num-groups", "4"},
                                                           {"moe-router-group-topk", "2"},
                                                           {"qk-head-dim", "16"},
                                                           {"qk-pos-emb-head-dim", "8"},
                                                           {"v-head-dim", "16"},
                                                           {"kv-lora-rank", "16"},
                                                           {"q-lora-rank", "16"},
                                                           {"sliding-window", "16"}};
  if (flag == "num-query-groups") return value == "1" ? "1" : "2";
  const auto found = sizes.find(flag);
  return found == sizes.end() ? "" : found->second;
}

std::vector<double> losses_of(const Recipe& recipe, const std::string& file) {
  std::string line = std::string(COMMAND) + " " + recipe.command + " --recipe " + recipe.name + kSmall +
                     " --metrics-file '" + file + "'";
  for (const auto& [flag, values] : recipe.settings)
    if (const std::string size = small_size(flag, values.empty() ? "" : values[0]); !size.empty())
      line += " --" + flag + " " + size;
  EXPECT_EQ(std::system((line + " > '" + file + ".log' 2>&1").c_str()), 0) << line;
  std::vector<double> out;
  std::ifstream metrics(file);
  for (std::string text; std::getline(metrics, text);)
    if (const auto json = nlohmann::json::parse(text); json.contains("lm_loss")) out.push_back(json["lm_loss"]);
  return out;
}

TEST(MiniatureRecipes, TrainAndLearn) {
  const std::string dir = testing::TempDir() + "megalith-miniatures-" + std::to_string(getpid());
  std::filesystem::create_directories(dir);
  size_t tried = 0;
  for (const std::string& name : recipe_names()) {
    const Recipe recipe = find_recipe(name);
    if (recipe.command != "pretrain-gpt" || !recipe.lacks.empty()) continue;
    const std::vector<double> losses = losses_of(recipe, dir + "/" + name);
    ASSERT_EQ(losses.size(), 10u) << name;
    EXPECT_NEAR(losses.front(), std::log(64.0), 0.3) << name;
    EXPECT_LT(losses.back(), losses.front() - 0.3) << name;
    ++tried;
  }
  EXPECT_GE(tried, 70u);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace megalith::test
