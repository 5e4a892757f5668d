// A run's precision recipe, from its flags. No other code reads those flags.
#pragma once
#include <optional>

#include "base/precision.h"
#include "ops/loss_scaling.h"
#include "settings/options.h"

namespace megalith {

Precision precision_of(const Options& options);
// How the loss is scaled; none: it is not.
std::optional<LossScaling> loss_scaling_of(const Options& options);

}  // namespace megalith
