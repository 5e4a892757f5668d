#include "ckpt/any_checkpoint.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "ckpt/formats.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/megatron_save.h"

namespace megalith {

bool AnyCheckpoint::has_optimizer() const {
  return std::ranges::any_of(tensors->tensors(), [](const TensorSpec& t) { return is_optimizer_tensor(t.name); });
}

void AnyCheckpoint::verify(const Share& share) {
  if (sums) sums->verify(share);
  sums.reset();
}

static bool is_trained(const ModelConfig& model, const std::string& name) {
  const TensorMapping weights = megatron_mapping(model, MegatronLayers::stacked, megatron_rows(model));
  const auto is_it = [&](const NamedShape& w) { return w.name == name; };
  return is_optimizer_tensor(name) || std::ranges::any_of(weights.ours, is_it);
}

AnyCheckpoint open_any_checkpoint(const CheckpointPlace& place, const AnyOpenOptions& options) {
  if (options.tells && !place.tracker_problem.empty() && place.format != CkptFormat::native)
    log::warn("[load] {}; loading {}", place.tracker_problem, place.path);
  AnyCheckpoint c = ways_of(place.format).open(place, options);
  if (options.verify) c.verify();
  // What nothing computes with is carried for architectures that we don't have. What is not trained may count.
  for (const TensorSpec& t : c.tensors->tensors())
    check(c.foreign() || is_float(t.dtype) || (t.dtype == DType::i32 && !is_trained(*c.model, t.name)),
          "[load] {}: tensor \"{}\" has type {}: want a floating-point type", c.path, t.name, name_of(t.dtype));
  return c;
}

AnyCheckpoint open_any_checkpoint(const std::string& dir, const AnyOpenOptions& options) {
  return open_any_checkpoint(checkpoint_to_open(dir, options.format, options.iteration), options);
}

}  // namespace megalith
