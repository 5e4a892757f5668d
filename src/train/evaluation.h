// The samples that a rank reads, and the losses on a validation or test set.
#pragma once
#include <memory>

#include "comm/ranks.h"
#include "data/loader.h"
#include "settings/options.h"
#include "step/trainer.h"

namespace megalith {

// How the rank at `coord` reads its part of a set. `first`: the first sample that all ranks together read.
LoaderConfig rank_loader_config(const Options& options, const Mesh& mesh, const Coord& coord, Split split, i64 first);

class Evaluation {
 public:
  Evaluation(const Options& options, const PlannedStep& step, const Coord& coord, Ranks& ranks, Trainer& trainer)
      : o_(options), step_(step), coord_(coord), ranks_(ranks), trainer_(trainer) {}

  // The losses over --eval-iters global batches, or over the `whole` set. Reading starts after the batches of `done`
  // earlier evaluations, if the set has that many. All ranks call it; the result is the same on all.
  Trainer::Evaluation sums(const std::shared_ptr<const Dataset>& set, i64 done, bool whole);
  std::vector<NamedValue> losses(const std::shared_ptr<const Dataset>& set, i64 done, bool whole);  // means, by name

 private:
  double from_last_stage(double x);

  const Options& o_;
  const PlannedStep& step_;
  const Coord& coord_;
  Ranks& ranks_;
  Trainer& trainer_;
};

}  // namespace megalith
