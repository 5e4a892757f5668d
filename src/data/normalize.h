// Weights that sum to one, with NumPy's order of additions: blends and splits depend on the last bit.
#pragma once
#include <span>
#include <vector>

namespace megalith {

double numpy_sum(std::span<const double> values);  // numpy.sum of doubles: pairwise in blocks, see the code

// values / numpy_sum(values). Error (naming `what`) if a value is negative or not finite, or if all are zero.
std::vector<double> normalize(std::span<const double> values, const char* what);

}  // namespace megalith
