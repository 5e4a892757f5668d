// `megalith recipes`, and what a training command makes of --recipe.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/training_line.h"
#include "recipes/recipe.h"
#include "tests/error_of.h"

namespace megalith::test {
namespace {

template <class... W>
std::string said(W... words) {
  const char* argv[] = {"recipes", words...};
  ::testing::internal::CaptureStdout();
  try {
    EXPECT_EQ(command_recipes(int(std::size(argv)), argv), 0);
  } catch (const Error&) {
    (void)::testing::internal::GetCapturedStdout();
    throw;
  }
  return ::testing::internal::GetCapturedStdout();
}

template <class... W>
TrainingLine line_of(W... words) {
  const char* argv[] = {words...};
  return read_training_line(int(std::size(argv)), argv);
}

bool has(const std::vector<std::string>& words, const std::string& word) { return std::ranges::count(words, word) > 0; }

TEST(RecipesCommand, ListsShowsAndFilters) {
  const std::string all = said();
  EXPECT_GE(std::ranges::count(all, '\n'), 41);
  for (const std::string& name : recipe_names()) EXPECT_NE(all.find("\n" + name + " "), std::string::npos) << name;
  const std::string some = said("--filter", "bert");
  EXPECT_NE(some.find("\nbert-base "), std::string::npos);
  EXPECT_EQ(some.find("llama"), std::string::npos);
  EXPECT_NE(said("llama3-8b:sft").find("lr: 5e-6"), std::string::npos);
  EXPECT_NE(said("llama3-8b").find("lr: 0.0003"), std::string::npos);
  EXPECT_NE(error_of([] { (void)said("--filter", "nowhere"); }).find("no recipe has this text"), std::string::npos);
}

TEST(TrainingLine, TakesTheRecipeOutOfTheWords) {
  for (const TrainingLine& line : {line_of("pretrain-gpt", "--recipe", "gpt2-small", "--lr", "1", "--explain-config"),
                                   line_of("pretrain-gpt", "--recipe=gpt2-small", "--explain-config", "--lr", "1")}) {
    EXPECT_EQ(line.words, (std::vector<std::string>{"pretrain-gpt", "--lr", "1"}));
    EXPECT_TRUE(line.explain);
    const Options o = line.read({"--seed", "9"});
    EXPECT_EQ(o.optimizer.lr, 1);
    EXPECT_EQ(o.model.num_layers, 12);
    EXPECT_EQ(o.train.seed, 9);
    EXPECT_EQ(o.parallel.layout, LayoutChoice::automatic);
  }
  const TrainingLine none = line_of("pretrain-gpt", "--lr", "1");
  EXPECT_TRUE(none.under.words.empty());
  EXPECT_FALSE(none.explain);
}

TEST(TrainingLine, LeavesTheLayoutToWhomGivesIt) {
  const auto chosen = [](const TrainingLine& line) { return has(line.under.words, "--layout=auto"); };
  EXPECT_FALSE(chosen(line_of("pretrain-gpt", "--recipe", "gpt2-small", "--micro-batch-size", "1")));
  EXPECT_FALSE(chosen(line_of("pretrain-gpt", "--recipe", "gpt2-small", "--tensor-model-parallel-size=2")));
  EXPECT_FALSE(chosen(line_of("pretrain-bert", "--recipe", "bert-base")));
}

TEST(TrainingLine, HoldsTheNumberOfGpusOfTheName) {
  const TrainingLine line = line_of("pretrain-gpt", "--recipe", "llama3-70b@256");
  EXPECT_EQ(line.gpus, 256);
  EXPECT_FALSE(has(line.under.words, "--world-size=256"));
  EXPECT_EQ(error_of([&] { check_size(line, 256); }), "");
  const std::string told = error_of([&] { check_size(line, 1); });
  EXPECT_NE(told.find("on 256 GPUs, and the run has 1 rank: start 256 ranks, or leave @256 out"), std::string::npos);
  EXPECT_EQ(error_of([&] { check_size(line_of("pretrain-gpt", "--recipe", "llama3-70b"), 3); }), "");
  EXPECT_EQ(line_of("pretrain-gpt", "--recipe", "llama3-70b@256", "--dry-run").read().parallel.world_size, 256);
}

TEST(TrainingLine, CountsInSamplesOrInIterations) {
  const TrainingLine line = line_of("pretrain-gpt", "--recipe", "gpt2-small", "--train-samples", "960");
  EXPECT_FALSE(line.read().given.has("train-iters"));
  EXPECT_TRUE(line_of("pretrain-gpt", "--recipe", "gpt2-small").read().given.has("train-iters"));
}

TEST(TrainingLine, RefusesWhatIsNoRecipeOfTheCommand) {
  const auto told = [](auto... words) { return error_of([&] { (void)line_of(words...); }); };
  EXPECT_NE(told("pretrain-bert", "--recipe", "gpt2-small").find("is for pretrain-gpt"), std::string::npos);
  EXPECT_NE(told("pretrain-gpt", "--recipe").find("wants a name"), std::string::npos);
  EXPECT_NE(told("pretrain-gpt", "--recipe", "--lr").find("wants a name"), std::string::npos);
  EXPECT_NE(told("pretrain-gpt", "--recipe=gpt2-small", "--recipe=gpt2-xl").find("twice"), std::string::npos);
  EXPECT_NE(told("pretrain-gpt", "--recipe", "gpt2-smal").find("nearest are gpt2-small"), std::string::npos);
}

}  // namespace
}  // namespace megalith::test
