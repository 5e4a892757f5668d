// Recipes as data: all of them are read, and their models are those that were published.
#include <gtest/gtest.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>

#include "recipes/recipe.h"
#include "settings/compatibility.h"
#include "settings/recipe_options.h"
#include "tests/error_of.h"

namespace megalith::test {
namespace {

config::Under under_of(const Recipe& recipe) { return {.name = "recipe " + recipe.name, .words = recipe.words()}; }

Options options_of(const Recipe& recipe, const std::vector<std::string>& more = {}) {
  std::vector<const char*> words = {recipe.command.c_str()};
  for (const std::string& word : more) words.push_back(word.c_str());
  Options o = read_options_over(under_of(recipe), int(words.size()), words.data());
  const auto is = [&](const char* command) { return recipe.command == command; };
  o.trains = o.model.architecture = is("pretrain-bert") ? Architecture::bert
                                    : is("pretrain-t5") ? Architecture::t5
                                                        : Architecture::gpt;
  return o;
}

// With each of its tasks.
std::vector<Recipe> all_recipes() {
  std::vector<Recipe> out;
  for (const std::string& name : recipe_names()) {
    out.push_back(find_recipe(name));
    for (const std::string& task : std::vector<std::string>(out.back().tasks))
      out.push_back(find_recipe(name + ":" + task));
  }
  return out;
}

TEST(Recipes, AreReadWithoutAMistake) {
  for (const Recipe& recipe : all_recipes()) {
    const Options o = options_of(recipe);
    EXPECT_EQ(o.wrong.lines(), std::vector<std::string>()) << recipe.name;
    EXPECT_FALSE(recipe.from.empty()) << recipe.name;
    EXPECT_TRUE(o.given.has("lr") && o.given.has("train-iters") && o.given.has("num-layers")) << recipe.name;
  }
}

TEST(Recipes, AskForNothingThatTheRulesRefuse) {
  for (const Recipe& recipe : all_recipes()) {
    if (!recipe.lacks.empty() || recipe.name.ends_with(":sft")) continue;  // conversations need a tokenizer and data
    Options o = options_of(recipe, {"--mock-data", "--micro-batch-size", "1"});
    o.data.seq_length = o.model.seq_length, o.data.vocab_size = o.model.vocab_size, o.data.seed = o.train.seed;
    EXPECT_EQ(error_of([&] { finish_options(o); }), "") << recipe.name;
  }
}

// What config.json calls it, of the options.
std::map<std::string, double> values_of(const Options& o) {
  const ModelConfig& m = o.model;
  return {{"num_hidden_layers", m.num_layers},
          {"hidden_size", m.hidden_size},
          {"intermediate_size", m.ffn_hidden_size},
          {"num_attention_heads", m.num_attention_heads},
          {"num_key_value_heads", m.num_query_groups},
          {"head_dim", m.kv_channels},
          {"vocab_size", m.vocab_size},
          {"max_position_embeddings", m.max_position_embeddings},
          {"seq_length", m.seq_length},
          {"rope_theta", m.rotary_base},
          {"rotary_pct", m.rotary_percent},
          {"norm_eps", m.norm_epsilon},
          {"bias", m.add_bias_linear},
          {"lr", o.optimizer.lr},
          {"min_lr", o.optimizer.min_lr},
          {"num_experts", m.moe.num_experts},
          {"num_experts_per_tok", m.moe.router_topk},
          {"n_group", m.moe.router_num_groups},
          {"topk_group", m.moe.router_group_topk},
          {"routed_scaling_factor", m.moe.router_topk_scaling_factor.value_or(1)},
          {"q_lora_rank", m.mla.q_lora_rank},
          {"kv_lora_rank", m.mla.kv_lora_rank},
          {"qk_nope_head_dim", m.mla.qk_head_dim},
          {"qk_rope_head_dim", m.mla.qk_pos_emb_head_dim},
          {"v_head_dim", m.mla.v_head_dim},
          {"moe_intermediate_size", m.moe.ffn_hidden_size}};
}

// Of the schedule, of the options. A batch and a length in tokens are published as round numbers.
std::map<std::string, double> training_of(const Options& o, const Recipe& recipe) {
  const auto setting = [&](const char* flag) {  // the optimizer keeps these to itself
    for (const auto& [key, values] : recipe.settings)
      if (key == flag) return std::stod(values.at(0));
    return 0.0;
  };
  const double batch = double(o.train.global_batch_size), tokens = batch * double(o.model.seq_length);
  return {{"lr", o.optimizer.lr},
          {"min_lr", o.optimizer.min_lr},
          {"seq_length", o.model.seq_length},
          {"train_iters", o.train.train_iters},
          {"global_batch_size", batch},
          {"batch_tokens", tokens},
          {"tokens", tokens * double(o.train.train_iters)},
          {"warmup_iters", o.optimizer.lr_warmup_iters},
          {"warmup_tokens", tokens * double(o.optimizer.lr_warmup_iters)},
          {"weight_decay", o.optimizer.weight_decay},
          {"adam_beta1", setting("adam-beta1")},
          {"adam_beta2", setting("adam-beta2")},
          {"clip_grad", o.optimizer.clip_grad}};
}

TEST(Recipes, HaveThePublishedTraining) {
  size_t held = 0;
  for (const std::string& name : recipe_names()) {
    const Recipe recipe = find_recipe(name);
    const std::string file = std::string(PUBLISHED_DIR) + "/" + name + ".yaml";
    const YAML::Node published = std::filesystem::exists(file) ? YAML::LoadFile(file) : YAML::Node();
    const bool has_source = published["training"] && published["training_source"];
    EXPECT_EQ(recipe.training_verified, has_source) << name;
    if (!has_source) continue;
    EXPECT_TRUE(published["training_source"].Scalar().starts_with("https://")) << name;
    const std::map<std::string, double> ours = training_of(options_of(recipe), recipe);
    for (const char* needed : {"lr", "seq_length"}) EXPECT_TRUE(published["training"][needed]) << name << needed;
    for (const auto& item : published["training"]) {
      const std::string key = item.first.Scalar();
      ASSERT_TRUE(ours.contains(key)) << name << ": " << key;
      const double want = item.second.as<double>(), near = key.ends_with("tokens") ? 0.05 : 1e-9;
      EXPECT_NEAR(ours.at(key), want, near * want) << name << ": " << key;
    }
    ++held;
  }
  EXPECT_GE(held, 40u);
}

TEST(Recipes, HaveThePublishedModel) {
  size_t held = 0, values = 0;
  for (const std::string& name : recipe_names()) {
    const Recipe recipe = find_recipe(name);
    const std::string file = std::string(PUBLISHED_DIR) + "/" + name + ".yaml";
    EXPECT_EQ(recipe.verified, std::filesystem::exists(file)) << name;
    if (!recipe.verified) continue;
    const YAML::Node published = YAML::LoadFile(file);
    EXPECT_TRUE(published["source"].Scalar().starts_with("https://")) << name;
    Options o = options_of(recipe);
    o.model.resolve(1);
    const std::map<std::string, double> ours = values_of(o);
    for (const auto& item : published["values"]) {
      const auto found = ours.find(item.first.Scalar());
      ASSERT_NE(found, ours.end()) << name << ": " << item.first.Scalar();
      const std::string text = item.second.Scalar();
      const double want = text == "True" ? 1 : text == "False" ? 0 : item.second.as<double>();
      EXPECT_DOUBLE_EQ(found->second, want) << name << ": " << item.first.Scalar();
      ++values;
    }
    ++held;
  }
  EXPECT_GE(held, 40u);
  EXPECT_GE(values, 6 * held);
}

TEST(Recipes, TasksHaveNotTheTokensOfTheRun) {
  EXPECT_EQ(find_recipe("llama3-8b").tokens, "15T");
  EXPECT_EQ(find_recipe("llama3-8b:sft").tokens, "");
}

TEST(Recipes, UnknownOnesAreRefusedWithTheNearest) {
  const std::string said = error_of([] { (void)find_recipe("lama3-8b"); });
  EXPECT_NE(said.find("the nearest are llama3"), std::string::npos) << said;
  EXPECT_NE(error_of([] { (void)find_recipe("llama3-8b:sleep"); }).find("there are sft"), std::string::npos);
  EXPECT_NE(error_of([] { (void)find_recipe("gpt2-small:sft"); }).find("leave it out"), std::string::npos);
  EXPECT_NE(error_of([] { (void)find_recipe(""); }).find("unknown recipe"), std::string::npos);
}

TEST(Recipes, ANameMayHaveTheNumberOfGpus) {
  EXPECT_EQ(find_recipe("llama3-70b@256").gpus, 256);
  EXPECT_EQ(find_recipe("llama3-70b@256").name, "llama3-70b");
  EXPECT_EQ(find_recipe("llama3.1-70b:continue@128").gpus, 128);
  EXPECT_EQ(find_recipe("llama3.1-8b:sft@8").name, "llama3.1-8b:sft");
  EXPECT_EQ(find_recipe("llama3.1-8b:sft").gpus, 0);
  for (const char* wrong :
       {"llama3-8b@", "llama3-8b@0", "llama3-8b@-8", "llama3-8b@8x", "llama3-8b@99999999999999999999"})
    EXPECT_NE(error_of([&] { (void)find_recipe(wrong); }).find("after @ give the number of GPUs"), std::string::npos)
        << wrong;
}

TEST(Recipes, ATaskTakesThePlaceOfSettings) {
  const Options o = options_of(find_recipe("llama3-8b:sft"));
  EXPECT_TRUE(o.data.sft);
  EXPECT_EQ(o.optimizer.lr, 5e-6);
  EXPECT_EQ(o.wrong.lines(), std::vector<std::string>());
  EXPECT_EQ(options_of(find_recipe("llama3-8b")).optimizer.lr, 3e-4);
}

TEST(Recipes, BrokenFilesAreErrors) {
  const auto told = [](const char* text) { return error_of([&] { (void)parse_recipe(text, "x.yaml"); }); };
  EXPECT_NE(told("recipe: a\ncommand: b\nmodle: {}\n").find("'modle'"), std::string::npos);
  EXPECT_NE(told("- a\n").find("is a map"), std::string::npos);
  EXPECT_NE(told("recipe: a\n").find("command"), std::string::npos);
  EXPECT_NE(told("a: [").find("not valid YAML"), std::string::npos);
  EXPECT_EQ(parse_recipe("{recipe: a, command: b, requires: [mamba]}", "x").lacks, std::vector<std::string>{"mamba"});
}

// A flag goes before the file, the file before the recipe, the recipe before the default.
TEST(Recipes, EachValueHasItsSource) {
  const std::string file = std::filesystem::temp_directory_path() / fmt::format("recipes_{}.yaml", ::getpid());
  std::ofstream(file) << "lr: 2e-4\nseed: 7\nweight-decay: 0.5\n";
  const Recipe recipe = find_recipe("gpt2-small");
  const std::vector<std::string> words = {"--config", file, "--lr", "1e-4", "--openai-gelu"};
  const Options o = options_of(recipe, words);
  EXPECT_EQ(o.optimizer.lr, 1e-4);
  EXPECT_EQ(o.train.seed, 7);
  EXPECT_EQ(o.optimizer.weight_decay, 0.5);
  EXPECT_EQ(o.model.hidden_size, 768);
  Options settled = o;
  settled.model.resolve(1);
  std::map<std::string, std::string> sources;
  for (const ExplainedSetting& s : explain(under_of(recipe), words, settled)) sources[s.name] = s.source;
  EXPECT_EQ(sources["lr"], "--lr");
  EXPECT_EQ(sources["seed"], file + " line 2");
  EXPECT_EQ(sources["weight-decay"], file + " line 3");
  EXPECT_EQ(sources["hidden-size"], "recipe gpt2-small");
  EXPECT_EQ(sources["activation"], "--openai-gelu");
  EXPECT_EQ(sources["ffn-hidden-size"], "derived");
  EXPECT_EQ(sources["clip-grad"], "recipe gpt2-small");
  EXPECT_EQ(sources["adam-eps"], "default");
  EXPECT_EQ(std::ranges::count_if(sources, [](const auto& s) { return s.second.empty(); }), 0);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace megalith::test
