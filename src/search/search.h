// Finds the fastest layouts that fit. It evaluates layouts in three ways of rising cost: bounds (bounds.h), an
// estimate from blocks (estimate.h), and the run's own plan (price.h). The first way that excludes a layout ends its
// evaluation, so the reported layouts are the best of all.
#pragma once
#include <optional>

#include "search/bounds.h"
#include "search/objective.h"
#include "search/space.h"
#include "search/stage_texts.h"

namespace megalith::search {

struct Found {
  Choice choice;
  Price price;
};

struct Miss {  // a layout that needs too much memory
  Choice choice;
  double bytes = 0;
  bool exact = false;  // otherwise from a bound or an estimate
};

struct Slow {  // a layout whose step takes too long
  Choice choice;
  double seconds = 0;  // of a step
  bool exact = false;  // otherwise from a bound or an estimate
};

struct Outcome {
  std::vector<Found> best;            // by the objective; all of them fit
  Reasons reasons;                    // why layouts are refused
  std::vector<Miss> misses;           // those that nearly fit, least memory first
  std::optional<Slow> too_slow;       // the fastest one that takes too long
  std::vector<std::string> mistakes;  // rules that every layout breaks: the flags are wrong
  i64 layouts = 0, slower = 0, estimated = 0, planned = 0;
};

struct Request {
  i64 gpus = 1;
  size_t top = 5;
  double headroom = 0.05;  // fraction of the memory that stays free
  Wanted wanted{};         // parts of a layout that are fixed
  bool brute = false;      // plan every layout, for tests
  Objective objective = Objective::tokens_per_second;
  double most_seconds = std::numeric_limits<double>::infinity();  // of a step
  i64 site_gpus = 0;                                              // a replica is within this many GPUs; 0: no sites
};

// Keeps the costs of the model's blocks and stages from one number of GPUs to the next.
class Searcher {
 public:
  // `base`: a dry run's options as the user gave them, without derived values.
  Searcher(const Options& base, const DeviceFacts& facts);
  Outcome run(const Request& request);
  const Options& base() const { return base_; }
  const DeviceFacts& facts() const { return facts_; }
  StageTexts& texts() { return texts_; }

 private:
  Options base_;
  DeviceFacts facts_;
  BlockCosts costs_;
  InFlight in_flight_;
  StageTexts texts_;
};

}  // namespace megalith::search
