// What two checkpoints have in common, and who wrote them.
#pragma once
#include <string>

namespace megalith::parity {

// How many tensors of two checkpoints, each of any format, differ in a bit, or are in one alone.
int differing_tensors(const std::string& a, const std::string& b);
// How much more than its share the busiest of the ranks has written, as a part of it.
double excess(const std::string& dir, int ranks);

}  // namespace megalith::parity
