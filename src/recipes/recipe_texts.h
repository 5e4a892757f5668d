// The files of share/megalith/recipes, which the build puts into the program.
#pragma once
#include <string_view>
#include <vector>

namespace megalith {

struct RecipeText {
  std::string_view name, text;
};
std::vector<RecipeText> texts_of_recipes();

}  // namespace megalith
