// `megalith recipes`: lists published runs and prints their settings.
#include <fmt/ranges.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/own_flags.h"
#include "recipes/recipe.h"

namespace megalith {

namespace {

struct RecipesFlags {
  std::string recipe, filter;
};

void list_fields(RecipesFlags& c, config::FieldList& f) {
  f.group("Recipes");
  f.add("recipe", c.recipe, "Show this one: NAME or NAME:TASK.").also_bare().shown_as("NAME");
  f.add("filter", c.filter, "List recipes whose name, command or source has this text.").shown_as("TEXT");
}

// Why a recipe does not train here, or the source of its values.
std::string state_of(const Recipe& r) {
  if (!r.lacks.empty()) return fmt::format("needs {}: not built yet", fmt::join(r.lacks, ", "));
  if (!r.verified) return "unverified";
  return r.training_verified ? "" : "training unverified";
}

void list_recipes(const std::string& filter) {
  log::say("{:<18} {:<14} {:>7} {:>7}  {}", "name", "command", "size", "tokens", "from");
  int shown = 0;
  for (const std::string& name : recipe_names()) {
    const Recipe r = find_recipe(name);
    if ((r.name + " " + r.command + " " + r.from).find(filter) == std::string::npos) continue;
    const std::string state = state_of(r);
    log::say("{:<18} {:<14} {:>7} {:>7}  {}{}", r.name, r.command, r.size, r.tokens.empty() ? "-" : r.tokens, r.from,
             state.empty() ? "" : " (" + state + ")");
    ++shown;
  }
  check(shown > 0, "--filter {}: no recipe has this text: leave it out to list all", filter);
}

void show_recipe(const std::string& name) {
  const Recipe r = find_recipe(name);
  log::say("recipe  {}\ncommand {}\nfrom    {}\nsize    {}", r.name, r.command, r.from, r.size);
  if (!r.tokens.empty()) log::say("tokens  {}", r.tokens);
  if (!r.tasks.empty()) log::say("tasks   {}", fmt::join(r.tasks, ", "));
  if (const std::string state = state_of(r); !state.empty()) log::say("state   {}", state);
  for (const auto& [key, values] : r.settings) log::say("  {}: {}", key, fmt::join(values, " "));
}

}  // namespace

int command_recipes(int argc, const char* const* argv) {
  RecipesFlags c;
  if (!read_flags(c, argc, argv)) return 0;
  check(c.recipe.empty() || c.filter.empty(), "--filter is for the list: leave it out, or the recipe's name");
  if (c.recipe.empty())
    list_recipes(c.filter);
  else
    show_recipe(c.recipe);
  return 0;
}

}  // namespace megalith
