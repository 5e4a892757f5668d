// The numbers that a step counts besides its loss, in one vector [n] f64: two sums for each further loss term, then
// the model's tallies. Each model piece has a leaf for it, to which its micro-batches add. The end of a step sums the
// leaves of all pieces and ranks at once.
#pragma once
#include <string>
#include <vector>

#include "graph/builder.h"
#include "models/model.h"

namespace megalith {

// Which of the numbers.
struct TallyPlace {
  std::string name;
  i64 at = 0, size = 1;
};
struct TallyPlaces : std::vector<TallyPlace> {
  const TallyPlace& of(const std::string& name) const;  // Error if there is none
  i64 numbers() const { return empty() ? 0 : back().at + back().size; }
};
// Of a model's terms and tallies. The sums of term X are "X sum" and "X weight".
TallyPlaces tally_places(const std::vector<std::string>& terms, const std::vector<TallySpec>& tallies);

inline constexpr const char* kTally = "tally";  // the output of the step's end, and the leaf, with the piece's suffix

// The sums over the micro-batches so far; {} if nothing is counted. `has_loss`: the first term is the loss. Error if
// the piece has a term that is not in the list, or another number of terms.
Value accumulate_tallies(Builder& b, const TallyPlaces& places, const Built& piece, bool has_loss = true,
                         const std::string& suffix = "");
// The same as another graph finds it.
Value tally_leaf(Builder& b, const TallyPlaces& places, const std::string& suffix);

// The sums of a rank's pieces over all ranks, Same on all axes.
Value total_of_tallies(Builder& b, const std::vector<Value>& pieces);

// The updates of untrained tensors at the end of a step. total: of the tallies; scalars: of StepScalars.
void update_at_end(Builder& b, const std::vector<Untrained>& untrained, const TallyPlaces& places, Value total,
                   Value scalars);

}  // namespace megalith
