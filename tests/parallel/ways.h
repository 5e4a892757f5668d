// Compares two ways to do the same: runs of each way, and resumes from the checkpoint of the other way.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

struct Ways {
  std::string name;          // prefix of folder names
  std::string plain, other;  // flags of each way
  struct Run {
    std::string layout, more;  // words of the layout; flags of both ways
  };
  std::vector<Run> runs;
};

// Returns the number of runs whose state or checkpoint differs in any bit.
int compare_ways(const Hall& at, const Ways& ways);

}  // namespace megalith::parity
