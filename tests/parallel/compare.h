// Compares each layout with its reference: the run that must have the same numbers, usually on one rank.
#pragma once
#include "tests/parallel/hall.h"
#include "tests/parallel/layouts.h"

namespace megalith::parity {

// Returns the number of layouts that differ from their references.
int compare(const Hall& at, const std::vector<Layout>& all);
// Compares `more` and the first at.most_rows rows of the matrix. Fails if there are fewer layouts than 60, 24 for BERT
// and T5, or 8 for RETRO.
int compare_matrix(const Hall& at, Kind kind, std::vector<Layout> more);

}  // namespace megalith::parity
