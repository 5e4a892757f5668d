// The one table of rules between options. Each row has the condition in words, the fix, and the message for a violation
// with its values. The parser checks single values.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "settings/options.h"

namespace megalith {

struct Rule {
  enum class Topic { model, run };
  enum class Action { refuse, warn };
  std::string_view what;  // the condition, for the docs page and the tests
  Topic topic;
  Action action;
  std::string (*broken)(const Options& o);  // if the rule is broken the message, or a line a message; else empty
  bool ground = false;                      // about single values: all other rules may rely on those
};

// Options must be resolved (finish_options). Rules are checked in this order.
const std::vector<Rule>& compatibility_rules();

struct Broken {
  std::vector<std::string> refusals, warnings;  // one line each
};

// The basic rules, which can be checked before options are resolved.
std::vector<std::string> broken_ground(const Options& options);

// All rules; if a basic rule is violated, only those. `told`: flags already reported as wrong or missing; other
// messages that name them are omitted.
Broken broken_rules(const Options& options, std::set<std::string, std::less<>> told = {});

// Throws Mistakes with the messages of all broken rules that refuse; returns those of the broken ones that warn.
std::vector<std::string> check_compatibility(const Options& options);

// The flags that a message names.
std::vector<std::string> flags_in(std::string_view message);

// The rules about the model: for commands that do not train.
void check_model(const ModelConfig& model);

std::string compatibility_markdown();

// Parts of the table.
std::vector<Rule> model_rules();
std::vector<Rule> bert_rules();
std::vector<Rule> attention_rules();
std::vector<Rule> expert_rules();
std::vector<Rule> encoder_decoder_rules();
std::vector<Rule> retro_rules();
std::vector<Rule> upcycling_rules();
std::vector<Rule> router_rules();
std::vector<Rule> batch_rules();
std::vector<Rule> schedule_rules();
std::vector<Rule> parallel_rules();
std::vector<Rule> run_rules();
std::vector<Rule> observe_rules();
std::vector<Rule> precision_rules();
std::vector<Rule> quantize_rules();
std::vector<Rule> recompute_rules();
std::vector<Rule> offload_rules();

}  // namespace megalith
