// The global batch size as a function of the consumed samples: constant, or growing (Megatron's --rampup-batch-size,
// --step-batch-size-schedule), rounded down if requested (--decrease-batch-size-if-needed). There is no other state, so
// a resumed run continues with the same sizes.
#pragma once
#include <vector>

#include "settings/options.h"

namespace megalith {

class BatchSizes {
 public:
  // Error, naming the flag, if a size or a length is invalid.
  explicit BatchSizes(const Options& options);

  i64 at(i64 consumed) const { return rounded(wanted(consumed)); }
  // Samples that rounding removes from that step: Megatron's skipped samples.
  i64 dropped(i64 consumed) const { return wanted(consumed) - at(consumed); }
  // The last one, not rounded: what iterations are turned into samples by.
  i64 nominal() const { return stages_.back().size; }
  i64 largest() const;
  std::vector<i64> from(i64 consumed) const;  // of the steps from there on, each once, in their order
  i64 at_once() const { return at_once_; }    // sequences of all ranks in one micro-batch
  bool change() const { return stages_.size() > 1; }

  // The end of a run after this many iterations and samples: iteration and consumed samples.
  struct End {
    i64 iteration, consumed;
  };
  End end(const TrainConfig& t, i64 iteration, i64 consumed) const;

 private:
  struct Stage {
    i64 begin, size;  // from this many consumed samples on
  };
  void add_ramp(const std::vector<std::string>& words, i64 last);
  void add_steps(const std::vector<std::string>& words, i64 seq_length);
  i64 wanted(i64 consumed) const;
  i64 rounded(i64 size) const { return rounds_ ? size / at_once_ * at_once_ : size; }

  std::vector<Stage> stages_;
  i64 at_once_;
  i64 ramp_samples_ = 0;  // of --rampup-batch-size; 0: not given
  bool rounds_ = false;
};

// The size that --step-batch-size-schedule ends with; 0 if it is none.
i64 last_of_schedule(const std::vector<std::string>& schedule);

// Micro-batches of the largest step.
i64 micro_batches(const Options& options);

}  // namespace megalith
