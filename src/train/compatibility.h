// The one table of rules between options. Each row says in words what must hold, what to do if it does not, and how the
// broken rule reads with its values. Spelling and kinds of single values are the parser's business.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "train/options.h"

namespace megalith {

struct Rule {
  enum class Topic { model, run };
  enum class Action { refuse, warn };
  std::string_view what;  // what must hold; for the docs page and the tests
  Topic topic;
  Action action;
  std::string (*broken)(const Options& o);  // the message if the rule is broken, else empty
};

// Options must be resolved (finish_options), and rules are held in this order: a later one may rely on those before it.
const std::vector<Rule>& compatibility_rules();

// Throws Error with the message of the first broken rule that refuses; returns those of the broken ones that warn.
std::vector<std::string> check_compatibility(const Options& options);

// The rules about the model alone: for commands that do not train.
void check_model(const ModelConfig& model);

std::string compatibility_markdown();

// Parts of the table.
std::vector<Rule> model_rules();
std::vector<Rule> batch_rules();
std::vector<Rule> schedule_rules();
std::vector<Rule> parallel_rules();
std::vector<Rule> run_rules();
std::vector<Rule> recompute_rules();

}  // namespace megalith
