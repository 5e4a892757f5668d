// The matrix of layouts that must train as one rank does: dimensions with their values, and rows that bring every two
// values of different dimensions together wherever the rules allow it.
#pragma once
#include <string>
#include <vector>

namespace megalith::parity {

struct Layout {
  std::string name;   // the values, " "-joined
  std::string model;  // flags that one rank gets too
  std::string ranks;  // flags about how ranks share the work, and what changes no result
  int size = 1;       // ranks
};

// Pairwise rows for up to `most_ranks` ranks: always the same ones. Every row keeps the compatibility rules.
struct Matrix {
  std::vector<Layout> layouts;
  int covered = 0, impossible = 0;  // pairs of values; those that no allowed row was found for
};
Matrix matrix_of_layouts(int most_ranks);

// The row of these words, one of a dimension; the dimensions that are not named take their first value. Error if it
// breaks a rule or a word is no value.
Layout layout_of(const std::string& words);

}  // namespace megalith::parity
