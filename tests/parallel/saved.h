// What two checkpoints have in common, and who wrote them.
#pragma once
#include <string>

namespace megalith::parity {

// How many tensors of two checkpoints of ours differ in a bit, or are in one alone.
int differing_tensors(const std::string& a, const std::string& b);
// The same of our checkpoint and one in Megatron's form.
int differing_from_torch_dist(const std::string& native, const std::string& torch_dist);
// How much more than its share the busiest of the ranks has written, as a part of it.
double excess(const std::string& dir, int ranks);

}  // namespace megalith::parity
