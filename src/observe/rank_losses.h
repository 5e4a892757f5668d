// The losses of the data-parallel ranks, each of its own samples: a rank that leaves the others has bad data or a bad
// device.
#pragma once
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "mesh/mesh.h"
#include "step/micro_batch_losses.h"

namespace megalith {

struct DataRankLoss {
  i64 data_parallel_rank = 0, micro_batch = 0;
  double sum = 0, tokens = 0;
  double mean() const { return tokens > 0 ? sum / tokens : 0; }
};

// All ranks' shares of so many micro-batches' losses, summed over those that share a sequence. Of all ranks.
std::vector<DataRankLoss> gather_losses(const Mesh& mesh, const Coord& coord, Ranks& ranks,
                                        const std::vector<LossShare>& mine);

// How many deviations of its earlier values a rank's distance from the ranks' median is off the usual one.
struct LossDeviation {
  i64 data_parallel_rank = 0;
  double deviations = 0;
};

// --log-rank-losses: the means since the last line.
class RankLosses {
 public:
  RankLosses(const Mesh& mesh, const Coord& coord, Ranks& ranks) : mesh_(mesh), coord_(coord), ranks_(ranks) {}
  void add(const std::vector<LossShare>& micro_batches);  // of a step
  // The line; and the name of each rank whose distance from the median is more than 6 deviations of its earlier values.
  struct Told {
    std::string line, warning;
    std::vector<LossDeviation> deviations{};  // of ranks with enough lines before
  };
  Told report();  // of all ranks
  static Told told(const std::vector<double>& losses, std::vector<std::vector<double>>& history);

 private:
  const Mesh& mesh_;
  const Coord& coord_;
  Ranks& ranks_;
  LossShare share_;
  std::vector<std::vector<double>> history_;  // by data-parallel rank: distances from the median, line by line
};

}  // namespace megalith
