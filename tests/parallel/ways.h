// Two ways of doing the same: runs of each, saved in the middle and gone on from by the other.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

struct Ways {
  std::string name;          // of folders
  std::string plain, other;  // flags
  struct Run {
    std::string layout, more;  // its words; flags of both ways
  };
  std::vector<Run> runs;
};

// How many runs differ in a bit, of the state or of a checkpoint.
int compare_ways(const Hall& at, const Ways& ways);

}  // namespace megalith::parity
