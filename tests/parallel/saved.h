// Compares two checkpoints, and measures how evenly ranks wrote one.
#pragma once
#include <string>

namespace megalith::parity {

// Returns the number of tensors that differ in any bit, or that only one checkpoint has. Each checkpoint may have any
// format.
int differing_tensors(const std::string& a, const std::string& b);
// Returns how much more than an equal share the busiest rank wrote, as a fraction of that share.
double excess(const std::string& dir, int ranks);

}  // namespace megalith::parity
