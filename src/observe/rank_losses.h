// The losses of the data-parallel ranks, each on its own samples. A rank whose loss differs from the others has bad
// data or a bad device.
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

// Collective: the losses of each data-parallel rank, summed over the ranks that share its sequences.
std::vector<DataRankLoss> gather_losses(const Mesh& mesh, const Coord& coord, Ranks& ranks,
                                        const std::vector<LossShare>& mine);

// Compares a rank's distance from the ranks' median with its usual distance, in standard deviations of its earlier
// values.
struct LossDeviation {
  i64 data_parallel_rank = 0;
  double deviations = 0;
};

// --log-rank-losses: mean losses since the last line.
class RankLosses {
 public:
  RankLosses(const Mesh& mesh, const Coord& coord, Ranks& ranks) : mesh_(mesh), coord_(coord), ranks_(ranks) {}
  void add(const std::vector<LossShare>& micro_batches);  // for one step
  // The line, and the name of each rank that is more than 6 of these deviations away.
  struct Told {
    std::string line, warning;
    std::vector<LossDeviation> deviations{};  // of ranks with enough earlier lines
  };
  Told report();  // collective
  static Told told(const std::vector<double>& losses, std::vector<std::vector<double>>& history);

 private:
  const Mesh& mesh_;
  const Coord& coord_;
  Ranks& ranks_;
  LossShare share_;
  std::vector<std::vector<double>> history_;  // for each data-parallel rank: its distance from the median in each line
};

}  // namespace megalith
