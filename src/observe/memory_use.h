// At the end of a run: the planned memory of each rank, and the memory that it used.
#pragma once
#include <string>
#include <vector>

#include "comm/ranks.h"

namespace megalith {

struct MemoryUse {
  i64 planned = 0, used = 0;  // bytes; used: the peak of the process
  double share() const { return double(used) / double(planned); }
};

// Collective: the values of all ranks, by rank.
std::vector<MemoryUse> all_memory_use(Ranks& ranks, const MemoryUse& mine);

// One line without newline. It names the rank that used the most, and the rank that used the largest share of its
// plan.
std::string memory_line(const std::vector<MemoryUse>& ranks);

}  // namespace megalith
