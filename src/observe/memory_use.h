// At the end of a run: what each rank planned of memory against what it used.
#pragma once
#include <string>
#include <vector>

#include "comm/ranks.h"

namespace megalith {

struct MemoryUse {
  i64 planned = 0, used = 0;  // bytes; used: the most that the process had
  double share() const { return double(used) / double(planned); }
};

// Every rank's, by rank. All ranks must call it.
std::vector<MemoryUse> all_memory_use(Ranks& ranks, const MemoryUse& mine);

// One line, no newline. Of several ranks: the one that used the most, and the one that used the largest share of its
// plan.
std::string memory_line(const std::vector<MemoryUse>& ranks);

}  // namespace megalith
