#include "observe/step_health.h"

#include <cmath>

#include "base/log.h"

namespace megalith {

void StepHealth::look(i64 iteration, const StepResult& r, const std::string& cause) {
  if (r.may_scale_down) return;  // overflows that only reduce the loss scale are normal
  skipped_in_a_row_ = r.counted ? 0 : skipped_in_a_row_ + 1;
  if (r.counted && r.is_empty())
    log::warn("iteration {}: all labels of its {} samples are masked: its loss and its gradient are 0", iteration,
              r.samples);
  if (r.counted) return;
  if (t_.check_for_nan_in_loss_and_grad)
    log::warn("iteration {}: loss {}, gradient norm {}: the step is skipped ({} in a row){}", iteration, r.loss,
              r.grad_norm, skipped_in_a_row_, cause.empty() ? "" : ": " + cause);
  if (t_.max_skipped_in_a_row > 0) check_hope(iteration, r, cause.empty() ? "" : " (" + cause + ")");
}

void StepHealth::check_hope(i64 iteration, const StepResult& r, const std::string& cause) const {
  check(std::isfinite(model_.squares()),
        "iteration {}: weights are not finite (NaN or infinite), so no step can count{}: the run ends and nothing more "
        "is saved; resume from an earlier checkpoint, with a lower --lr",
        iteration, cause);
  check(
      skipped_in_a_row_ < t_.max_skipped_in_a_row,
      "iteration {}: loss {}, gradient norm {}: {} iterations in a row are skipped{}, the run ends and nothing more is "
      "saved; look at the data and --lr, or allow more by --max-skipped-iterations-in-a-row",
      iteration, r.loss, r.grad_norm, skipped_in_a_row_, cause);
}

}  // namespace megalith
