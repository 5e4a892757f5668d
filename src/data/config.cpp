#include "data/config.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {

SampleCounts sample_counts(const RunLength& run) {
  check(run.eval_interval > 0, "--eval-interval is {}: want 1 or more", run.eval_interval);
  const i64 eval_batch = run.eval_global_batch_size > 0 ? run.eval_global_batch_size : run.global_batch_size;
  const i64 evaluations = std::max<i64>(
      0, run.train_iters / run.eval_interval + 1 - std::max<i64>(0, run.start_eval_at_iter) / run.eval_interval);
  SampleCounts counts;
  counts.train = run.skip_train ? 0
                 : run.train_samples > 0
                     ? run.train_samples
                     : run.consumed_samples + std::max<i64>(0, run.train_iters - run.iteration) * run.global_batch_size;
  counts.valid = (run.skip_train ? 1 : evaluations) * run.eval_iters * eval_batch;
  if (run.full_validation) counts.valid.reset();
  counts.test = run.eval_iters * eval_batch;
  return counts;
}

}  // namespace megalith
