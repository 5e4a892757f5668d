#include "cli/training_line.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "recipes/recipe.h"

namespace megalith {

namespace {

constexpr std::string_view kRecipe = "--recipe", kExplain = "--explain-config";

bool is_word(const std::string& word, std::string_view flag) {
  return word == flag || word.starts_with(std::string(flag) + "=");
}

// The value of the word at `at`. Moves `at` to the last word that it read.
std::string value_of(const std::vector<std::string>& words, size_t& at) {
  const size_t equals = words[at].find('=');
  if (equals != std::string::npos) return words[at].substr(equals + 1);
  check(at + 1 < words.size() && !words[at + 1].starts_with('-'), "{} wants a name: `megalith recipes` lists them",
        kRecipe);
  return words[++at];
}

bool gives(const TrainingLine& line, std::initializer_list<std::string_view> flags) {
  return std::ranges::any_of(line.words, [&](const std::string& word) {
    return std::ranges::any_of(flags, [&](std::string_view flag) { return is_word(word, flag); });
  });
}

void take_recipe(const std::string& name, TrainingLine& line) {
  Recipe recipe = find_recipe(name);
  check(recipe.lacks.empty(), "recipe {} needs {}: not built yet", recipe.name, fmt::join(recipe.lacks, ", "));
  check(recipe.command == line.words[0], "recipe {} is for {}: give it to that command", recipe.name, recipe.command);
  line.trained_by = recipe.command;
  line.under.name = "recipe " + recipe.name;
  line.under.words = recipe.words();
  line.gpus = recipe.gpus;
}

// A dry run on one rank plans for the recipe's number of GPUs.
void settle_size(TrainingLine& line) {
  if (line.gpus > 0 && gives(line, {"--dry-run"}))
    line.under.words.push_back(fmt::format("--world-size={}", line.gpus));
}

// With a recipe the planner chooses the layout, unless the user gives a part of it.
void settle_layout(TrainingLine& line) {
  const bool given =
      gives(line, {"--layout", "--micro-batch-size", "--tensor-model-parallel-size", "--pipeline-model-parallel-size",
                   "--context-parallel-size", "--expert-model-parallel-size", "--use-distributed-optimizer",
                   "--sequence-parallel", "--config"});
  if (!given && line.trained_by == "pretrain-gpt") line.under.words.push_back("--layout=auto");
}

}  // namespace

Options TrainingLine::read(const std::vector<std::string>& more) const {
  std::vector<const char*> all;
  for (const std::string& word : words) all.push_back(word.c_str());
  for (const std::string& word : more) all.push_back(word.c_str());
  return read_options_over(under, int(all.size()), all.data());
}

void check_size(const TrainingLine& line, i64 ranks) {
  check(line.gpus == 0 || line.gpus == ranks,
        "{} is asked for on {} GPUs, and the run has {} {}: start {} ranks, or leave @{} out", line.under.name,
        line.gpus, ranks, ranks == 1 ? "rank" : "ranks", line.gpus, line.gpus);
}

TrainingLine read_training_line(int argc, const char* const* argv) {
  TrainingLine line;
  const std::vector<std::string> all(argv, argv + argc);
  std::string recipe;
  bool named = false;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && is_word(all[i], kRecipe)) {
      check(!named, "--recipe is given twice: give it once");
      recipe = value_of(all, i), named = true;
    } else if (i > 0 && all[i] == kExplain) {
      line.explain = true;
    } else {
      line.words.push_back(all[i]);
    }
  }
  if (named) take_recipe(recipe, line), settle_layout(line), settle_size(line);
  return line;
}

}  // namespace megalith
