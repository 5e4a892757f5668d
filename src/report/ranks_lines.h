// Reads SAVE/ranks.jsonl (observe/sinks/ranks_file.h). The file may have any content. Lines that cannot be read are
// counted.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace megalith::report {

struct RankOfRun {
  std::string host;
  i64 stage = 0;
  std::string bus{};  // of its GPU; empty: none
  i64 gpu = -1;       // the GPU's number on its host; -1: unknown
};

struct OwnWorkLine {
  i64 iteration = 0;
  std::vector<double> ms{};  // by rank
};

struct RanksOfRun {
  std::vector<RankOfRun> ranks{};                        // by rank, of the last start
  std::vector<OwnWorkLine> own_work{};                   // by iteration
  std::vector<std::pair<std::string, double>> memory{};  // bytes of rank 0: planned by category, and the peak
  std::vector<double> planned{}, used{};                 // bytes by rank, at the end of the run
  i64 passed_over = 0;

  const OwnWorkLine* own_work_at(i64 iteration) const;  // nullptr: none
};

// Empty if there is no file.
RanksOfRun read_ranks(const std::string& path);

}  // namespace megalith::report
