// Reads the YAML text of a recipe.
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/check.h"
#include "recipes/recipe.h"

namespace megalith {

namespace {

std::vector<std::string> list_of(const YAML::Node& node) {
  if (node.IsScalar()) return {node.Scalar()};
  std::vector<std::string> out;
  for (const YAML::Node& item : node) out.push_back(item.Scalar());
  return out;
}

// A setting of the task takes the place of the same one before it.
void take_settings(const YAML::Node& map, Recipe& recipe) {
  for (const auto& item : map) {
    const std::string key = item.first.Scalar();
    std::erase_if(recipe.settings, [&](const auto& setting) { return setting.first == key; });
    recipe.settings.emplace_back(key, list_of(item.second));
  }
}

void take_key(const std::string& key, const YAML::Node& value, const std::string& place, Recipe& recipe) {
  if (key == "recipe")
    recipe.name = value.Scalar();
  else if (key == "command")
    recipe.command = value.Scalar();
  else if (key == "from")
    recipe.from = value.Scalar();
  else if (key == "size")
    recipe.size = value.Scalar();
  else if (key == "tokens")
    recipe.tokens = value.Scalar();
  else if (key == "verified")
    recipe.verified = value.as<bool>();
  else if (key == "training-verified")
    recipe.training_verified = value.as<bool>();
  else if (key == "requires")
    recipe.lacks = list_of(value);
  else if (key == "model" || key == "training")
    take_settings(value, recipe);
  else
    check(key == "tasks", "{}: a recipe has no '{}': see docs/recipes.md", place, key);
}

Recipe read(const YAML::Node& root, const std::string& place, const std::string& task) {
  check(root.IsMap(), "{}: a recipe is a map, such as `recipe: gpt2-small`", place);
  Recipe recipe;
  for (const auto& item : root) take_key(item.first.Scalar(), item.second, place, recipe);
  check(!recipe.name.empty() && !recipe.command.empty(), "{}: it wants `recipe:` and `command:`", place);
  const YAML::Node tasks = root["tasks"];
  if (tasks)
    for (const auto& item : tasks) recipe.tasks.push_back(item.first.Scalar());
  if (task.empty()) return recipe;
  check(std::ranges::count(recipe.tasks, task) > 0, "recipe {}: there is no task '{}': {}", recipe.name, task,
        recipe.tasks.empty() ? "leave it out" : fmt::format("there are {}", fmt::join(recipe.tasks, ", ")));
  take_settings(tasks[task], recipe);
  recipe.tokens.clear();  // they are those of the published run
  recipe.name += ":" + task;
  return recipe;
}

}  // namespace

Recipe parse_recipe(std::string_view text, const std::string& place, const std::string& task) {
  try {
    return read(YAML::Load(std::string(text)), place, task);
  } catch (const YAML::Exception& error) {
    fail("{} line {}: not valid YAML: {}", place, error.mark.line + 1, error.msg);
  }
}

std::vector<std::string> Recipe::words() const {
  std::vector<std::string> out;
  for (const auto& [key, values] : settings) {
    const bool single = values.size() == 1;
    if (single && values[0] == "true")
      out.push_back("--" + key);
    else if (single)
      out.push_back(fmt::format("--{}={}", key, values[0]));
    else
      out.push_back("--" + key), out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

}  // namespace megalith
