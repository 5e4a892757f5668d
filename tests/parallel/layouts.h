// The matrix of layouts that must train as one rank does: dimensions with their values, and rows that bring every two
// values of different dimensions together wherever the rules allow it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace megalith::parity {

struct Layout {
  std::string name;       // the values, " "-joined
  std::string model;      // flags that one rank gets too
  std::string ranks;      // flags about how ranks share the work, and what changes no result
  std::string reference;  // flags of the run on one rank that has the same numbers
  int reference_size = 1;
  int size = 1;        // ranks
  int data_ranks = 1;  // of dp
};

// Pairwise rows for up to `most_ranks` ranks: always the same ones. Every row keeps the compatibility rules.
struct Matrix {
  std::vector<Layout> layouts;
  int covered = 0, left_out = 0, impossible = 0;  // pairs of values; those of no row; those that no allowed row has
};
enum class Kind { dense, experts, bert, t5, retro };
// Each row has as many pairs of values as possible that no row before it has. At most `most_rows`.
Matrix matrix_of_layouts(int most_ranks, Kind kind, size_t most_rows = SIZE_MAX);

// The row of these words, one of a dimension; the dimensions that are not named take their first value. It is dense if
// all words are. Error if a word is no value.
Layout layout_of(const std::string& words);

}  // namespace megalith::parity
