// Finds the fastest layouts that fit. Prices of rising cost: bounds (bounds.h), an estimate put together from blocks
// (estimate.h), and the plan that the run itself would make (price.h). A layout is left at the
// first price that rules it out, so those that are told are the best of all.
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

struct Miss {  // what needs too much memory
  Choice choice;
  double bytes = 0;
  bool exact = false;  // else a bound or an estimate
};

struct Slow {  // what takes longer than a step may
  Choice choice;
  double seconds = 0;  // of a step
  bool exact = false;  // else a bound or an estimate
};

struct Outcome {
  std::vector<Found> best;            // by the objective, all within the memory
  Reasons reasons;                    // of those that can't be
  std::vector<Miss> misses;           // the nearest, least memory first
  std::optional<Slow> too_slow;       // the fastest of those that take too long
  std::vector<std::string> mistakes;  // rules that every layout breaks: the flags are wrong
  i64 layouts = 0, slower = 0, estimated = 0, planned = 0;
};

struct Request {
  i64 gpus = 1;
  size_t top = 5;
  double headroom = 0.05;  // of the memory, that stays free
  Wanted wanted{};         // of a layout; others are passed over
  bool brute = false;      // plan every layout: for tests
  Objective objective = Objective::tokens_per_second;
  double most_seconds = std::numeric_limits<double>::infinity();  // of a step
};

// Keeps what it has learned of the model's blocks and stages from one number of GPUs to the next.
class Searcher {
 public:
  // `base`: options as the user gave them, without derived values, of a dry run.
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
