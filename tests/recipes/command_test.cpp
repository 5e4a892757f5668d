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

// Warm-up, decay and the last decay of WSD in the unit of the run's length. 0: not set.
TEST(TrainingLine, ReplacesLengthsOfARecipeInTheOtherUnit) {
  const auto warmup = [](auto... words) {
    const OptimizerConfig p = line_of("pretrain-gpt", "--recipe", "demo", words...).read().optimizer;
    return std::tuple(p.lr_warmup_iters, p.lr_warmup_samples, p.lr_warmup_fraction);
  };
  EXPECT_EQ(warmup(), std::tuple(10, 0, 0.0));
  EXPECT_EQ(warmup("--train-samples", "800"), std::tuple(0, 80, 0.0));  // 10 iterations of 8 sequences
  EXPECT_EQ(warmup("--train-samples=800", "--global-batch-size", "4"), std::tuple(0, 40, 0.0));
  EXPECT_EQ(warmup("--train-samples", "800", "--lr-warmup-samples", "24"), std::tuple(0, 24, 0.0));
  EXPECT_EQ(warmup("--lr-warmup-fraction", "0.5"), std::tuple(0, 0, 0.5));
  EXPECT_EQ(warmup("--train-samples", "800", "--lr-warmup-iters", "3"), std::tuple(3, 0, 0.0));  // is refused
}

TEST(TrainingLine, ConvertsAllLengthsAndSaysSo) {
  TrainingLine line = line_of("pretrain-gpt", "--train-samples=801");
  line.under = {"recipe r",
                {"--global-batch-size=8", "--train-iters=90", "--lr-decay-iters=60", "--lr-warmup-iters=5",
                 "--lr-wsd-decay-iters=7"}};
  Options o = line.read();
  EXPECT_EQ(std::tuple(o.train.train_iters, o.optimizer.lr_decay_samples, o.optimizer.lr_wsd_decay_samples),
            std::tuple(0, 480, 56));
  EXPECT_EQ(o.optimizer.lr_decay_iters + o.optimizer.lr_warmup_iters + o.optimizer.lr_wsd_decay_iters, 0);
  EXPECT_EQ(o.notes.at(1), "--lr-warmup-iters 5 is --lr-warmup-samples 40 with --train-samples");
  line = line_of("pretrain-gpt", "--train-iters", "90");
  line.under = {"recipe r", {"--global-batch-size=8", "--train-samples=720", "--lr-warmup-samples=17"}};
  o = line.read();
  EXPECT_EQ(std::tuple(o.train.train_samples, o.optimizer.lr_warmup_samples, o.optimizer.lr_warmup_iters),
            std::tuple(0, 0, 3));
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
