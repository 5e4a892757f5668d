// Layouts against the runs on one rank that have the same numbers.
#pragma once
#include "tests/parallel/hall.h"
#include "tests/parallel/layouts.h"

namespace megalith::parity {

// How many layouts differ from their references.
int compare(const Hall& at, const std::vector<Layout>& all);
// The same of `more` and the first at.most_rows rows of a matrix: 60 together at the least, of encoders 24.
int compare_matrix(const Hall& at, Kind kind, std::vector<Layout> more);

}  // namespace megalith::parity
