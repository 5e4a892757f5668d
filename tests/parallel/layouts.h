// The matrix of layouts that must train like one rank. A row has one value of each dimension. Every pair of values of
// two dimensions is in some row, if the compatibility rules allow it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace megalith::parity {

struct Layout {
  std::string name;       // the values, joined by " "
  std::string model;      // flags that the reference gets too
  std::string ranks;      // flags of parallelism, and flags that change no result
  std::string reference;  // flags of the run that must have the same numbers
  int reference_size = 1;
  int size = 1;        // ranks
  int data_ranks = 1;  // size of dp
};

// Pairwise rows for up to `most_ranks` ranks. The selection is deterministic. Every row satisfies the compatibility
// rules.
struct Matrix {
  std::vector<Layout> layouts;
  int covered = 0, left_out = 0, impossible = 0;  // pairs of values: in a row; not yet in a row; in no allowed row
};
enum class Kind { dense, experts, bert, t5, retro };
// Makes at most `most_rows` rows. Each new row is chosen for the most pairs of values that no previous row has.
Matrix matrix_of_layouts(int most_ranks, Kind kind, size_t most_rows = SIZE_MAX);

// The row of these words, one word for each named dimension. Other dimensions have their first value. Tables are tried
// in order, the dense one first. Throws an Error if no table has all words.
Layout layout_of(const std::string& words);

}  // namespace megalith::parity
