#include "ckpt/any_checkpoint.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "ckpt/formats.h"

namespace megalith {

bool AnyCheckpoint::has_optimizer() const {
  return std::ranges::any_of(tensors->tensors(), [](const TensorSpec& t) { return is_optimizer_tensor(t.name); });
}

void AnyCheckpoint::verify(const Share& share) {
  if (sums) sums->verify(share);
  sums.reset();
}

AnyCheckpoint open_any_checkpoint(const CheckpointPlace& place, const AnyOpenOptions& options) {
  if (options.tells && !place.tracker_problem.empty() && place.format != CkptFormat::native)
    log::warn("[load] {}; loading {}", place.tracker_problem, place.path);
  AnyCheckpoint c = ways_of(place.format).open(place, options);
  if (options.verify) c.verify();
  return c;
}

AnyCheckpoint open_any_checkpoint(const std::string& dir, const AnyOpenOptions& options) {
  return open_any_checkpoint(checkpoint_to_open(dir, options.format, options.iteration), options);
}

}  // namespace megalith
