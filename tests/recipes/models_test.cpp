// The models of recipes beside those of Hugging Face: which family can express each, and how many parameters it has.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>

#include "ckpt/hf/hf_config.h"
#include "models/make_model.h"
#include "recipes/recipe.h"
#include "settings/recipe_options.h"
#include "step/model_size.h"
#include "tests/error_of.h"

namespace megalith::test {
namespace {

ModelConfig model_of(const Recipe& recipe) {
  const config::Under under = {.name = "recipe " + recipe.name, .words = recipe.words()};
  const char* words[] = {recipe.command.c_str()};
  Options o = read_options_over(under, 1, words);
  o.model.architecture = recipe.command == "pretrain-bert" ? Architecture::bert
                         : recipe.command == "pretrain-t5" ? Architecture::t5
                                                           : Architecture::gpt;
  o.model.resolve(1);
  return o.model;
}

YAML::Node published(const std::string& name) {
  const std::string file = std::string(PUBLISHED_DIR) + "/" + name + ".yaml";
  return std::filesystem::exists(file) ? YAML::LoadFile(file) : YAML::Node();
}

// A model_type of transformers for each recipe, by the beginning of its name; none: transformers has the model, and we
// neither read nor write it.
const std::vector<std::pair<std::string, std::string>> kFamilies = {{"gpt2", "gpt2"},
                                                                    {"gpt3", "gpt2"},
                                                                    {"gpt-neox", "gpt_neox"},
                                                                    {"pythia", "gpt_neox"},
                                                                    {"llama", "llama"},
                                                                    {"mistral", "mistral"},
                                                                    {"mixtral", "mixtral"},
                                                                    {"qwen2.5", "qwen2"},
                                                                    {"qwen3-30b", "qwen3_moe"},
                                                                    {"qwen3-235b", "qwen3_moe"},
                                                                    {"qwen3", "qwen3"},
                                                                    {"falcon", "falcon"},
                                                                    {"bloom", "bloom"},
                                                                    {"olmo2", "olmo2"},
                                                                    {"deepseek-v3", "deepseek_v3"},
                                                                    {"deepseek-v2", "deepseek_v2"},
                                                                    {"bert", "bert"},
                                                                    {"t5", "t5"},
                                                                    {"opt", ""},
                                                                    {"nemotron4", ""},
                                                                    {"demo", ""}};

std::string family_of(const std::string& name) {
  for (const auto& [begin, family] : kFamilies)
    if (name.starts_with(begin)) return family;
  ADD_FAILURE() << name << ": which family is it of?";
  return "";
}

// Exported, each is a model of its family, and the same one when it is read again.
TEST(RecipeModels, AreOfTheirFamilyAndComeBackFromIt) {
  size_t exported = 0;
  for (const std::string& name : recipe_names()) {
    const std::string family = family_of(name);
    if (family.empty()) continue;
    HfConfig config{.model = model_of(find_recipe(name)), .dtype = DType::bf16};
    for (const HfFamily* f : hf_families())
      if (f->name == family) config.family = f;
    ASSERT_NE(config.family, nullptr) << family;
    std::string text;
    EXPECT_EQ(error_of([&] { text = write_hf_config(config); }), "") << name;
    if (text.empty()) continue;
    EXPECT_EQ(describe(parse_hf_config(text, name).model), describe(config.model)) << name;
    ++exported;
  }
  EXPECT_GE(exported, 60u);
}

TEST(RecipeModels, HaveThePublishedNumberOfParameters) {
  size_t held = 0;
  for (const std::string& name : recipe_names()) {
    const YAML::Node p = published(name);
    if (!p["parameters"]) continue;
    EXPECT_TRUE(p["parameters_source"].Scalar().starts_with("https://")) << name;
    ModelConfig m = model_of(find_recipe(name));
    m.mtp.num_layers = 0;  // counted apart
    const double want = p["parameters"].as<double>(), found = size_of(*make_model(m)).parameters();
    EXPECT_NEAR(found / want, 1, 0.005) << name << ": " << found;
    ++held;
  }
  EXPECT_GE(held, 70u);
}

}  // namespace
}  // namespace megalith::test
