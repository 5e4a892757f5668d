// Runs an iteration's forward and backward again, and finds the first non-finite number on any rank. It restores all
// state that the model keeps between steps.
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
  RunWatches& watches;  // the interpreter's watches outside the replay
  Trainer& trainer;
  Ranks& ranks;
};

// All ranks call it, and no step may be running. `config`: this rank's, from the iteration's first sample on.
std::optional<FoundOnRank> replay(const ReplaySite& site, std::shared_ptr<const Dataset> dataset,
                                  const LoaderConfig& config, i64 micro_batches);

}  // namespace megalith
