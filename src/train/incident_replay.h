// Runs an iteration's forward and backward again, and finds the first number that is not finite on any rank. Leaves no
// trace: what the model keeps from step to step is put back.
#pragma once
#include <optional>

#include "comm/ranks.h"
#include "data/loader.h"
#include "plan/run_watch.h"
#include "step/first_non_finite.h"
#include "step/trainer.h"

namespace megalith {

struct FoundOnRank {
  int rank = 0;
  NonFinite what;
};

struct ReplaySite {
  const PlannedStep& step;
  const Coord& coord;
  Interpreter& interpreter;
  RunWatches& watches;  // what the interpreter is told of at other times
  Trainer& trainer;
  Ranks& ranks;
};

// To be called by all ranks, with no step under way. `config`: this rank's, from the iteration's first sample on.
std::optional<FoundOnRank> replay(const ReplaySite& site, std::shared_ptr<const Dataset> dataset,
                                  const LoaderConfig& config, i64 micro_batches);

}  // namespace megalith
