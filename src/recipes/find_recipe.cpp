// Finds a recipe by name, and suggests similar names.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/escape.h"
#include "recipes/recipe.h"
#include "recipes/recipe_texts.h"

namespace megalith {

namespace {

// How many pairs of neighbouring letters two names share, as part of all of them.
double likeness(std::string_view a, std::string_view b) {
  if (a.size() < 2 || b.size() < 2) return 0;
  size_t same = 0;
  for (size_t i = 0; i + 1 < a.size(); ++i) same += b.find(a.substr(i, 2)) != b.npos;
  return double(same) / double(std::max(a.size(), b.size()) - 1);
}

std::vector<std::string> nearest(const std::string& name) {
  constexpr size_t kMost = 3, kLongest = 80;
  const std::string_view head = std::string_view(name).substr(0, kLongest);
  std::vector<std::string> names = recipe_names();
  std::ranges::stable_sort(names, [&](const auto& a, const auto& b) { return likeness(head, a) > likeness(head, b); });
  names.resize(std::min(names.size(), kMost));
  return names;
}

// The number after the @ of a name.
i64 gpus_in(const std::string& name, const std::string& text) {
  constexpr i64 kMost = 1 << 20;
  i64 gpus = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, gpus);
  check(code == std::errc() && stop == end && gpus >= 1 && gpus <= kMost,
        "--recipe {}: after @ give the number of GPUs, 1 to {}", escape_controls(name), kMost);
  return gpus;
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const RecipeText& t : texts_of_recipes()) names.emplace_back(t.name);
  return names;
}

Recipe find_recipe(const std::string& name) {
  const size_t at = name.find('@');
  const std::string task_too = name.substr(0, at);
  const size_t colon = task_too.find(':');
  const std::string plain = task_too.substr(0, colon);
  for (const RecipeText& t : texts_of_recipes()) {
    if (t.name != plain) continue;
    Recipe recipe = parse_recipe(t.text, "recipe " + plain, colon == task_too.npos ? "" : task_too.substr(colon + 1));
    if (at != name.npos) recipe.gpus = gpus_in(name, name.substr(at + 1));
    return recipe;
  }
  fail("--recipe {}: unknown recipe: the nearest are {} (`megalith recipes` lists all)", escape_controls(name),
       fmt::join(nearest(plain), ", "));
}

}  // namespace megalith
