// A recipe: the settings of a published run, by name.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct Recipe {
  std::string name;                // with its task: "llama3-8b:sft"
  std::string command;             // that trains it: "pretrain-gpt"
  std::string from;                // who published it
  std::string size;                // parameters, for people: "8.0B"
  std::string tokens;              // in the published run, for readers: "15T"; empty: unknown, or of a task
  bool verified = false;           // its model is compared with published values
  bool training_verified = false;  // and its schedule and batch
  i64 gpus = 0;                    // of its name: "llama3-70b@256"; 0: any number
  std::vector<std::string> lacks;  // features that it needs and this program has not
  std::vector<std::string> tasks;  // other than pretraining
  std::vector<std::pair<std::string, std::vector<std::string>>> settings;  // by flags without dashes; a task's are last

  std::vector<std::string> words() const;  // as on a command line
};

// Reads a recipe's file. `place` names it in messages. Throws Error where it is no recipe.
Recipe parse_recipe(std::string_view text, const std::string& place, const std::string& task = {});

std::vector<std::string> recipe_names();
// "NAME", "NAME:TASK", "NAME@GPUS" or "NAME:TASK@GPUS". Throws Error on an unknown one, with the names that are near.
Recipe find_recipe(const std::string& name);

}  // namespace megalith
