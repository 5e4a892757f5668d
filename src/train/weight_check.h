// Compares the copies of each weight on data-parallel ranks, to the bit
// (--check-weight-hash-across-dp-replicas-interval). Sums over ranks give all of them the same bits, so they stay
// equal.
#pragma once
#include <optional>
#include <vector>

#include "comm/ranks.h"
#include "plan/leaf_hash.h"
#include "step/step.h"
#include "train/odd_copies.h"

namespace megalith {

class WeightCheck {
 public:
  WeightCheck(const PlannedStep& step, const Coord& coord, Interpreter& interpreter, Ranks& ranks);

  // On all ranks, with no step in flight. Returns this rank's exit code if copies differ: rank 0 names it.
  std::optional<int> look(i64 iteration) const;

 private:
  struct Weight {
    std::string name, block;
    std::vector<const Leaf*> leaves;  // in compute precision; the main weight, where each rank has all of it
  };
  std::vector<CopyHash> hashes() const;
  int tell(i64 iteration, const std::vector<CopyHash>& mine) const;

  const PlannedStep& step_;
  const Coord& coord_;
  Interpreter& interpreter_;
  Ranks& ranks_;
  std::vector<Weight> weights_;
};

}  // namespace megalith
