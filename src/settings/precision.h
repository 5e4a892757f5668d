// The recipe of a run's precision, from its flags. Nobody else reads those flags.
#pragma once
#include "base/precision.h"
#include "settings/options.h"

namespace megalith {

Precision precision_of(const Options& options);

}  // namespace megalith
