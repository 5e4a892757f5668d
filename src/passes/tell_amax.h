// With delayed scaling: the amax of a step's casts, as a result of the step.
#pragma once
#include <string>

#include "graph/builder.h"

namespace megalith {

// The graph's output of this name is `seen` over all ranks of the stage, in f64. Gives `seen` over them.
Value tell_amax(Builder& b, const std::string& output, Value seen);

// The same for counts: a sum over ranks.
void tell_counts(Builder& b, const std::string& output, Value seen);

}  // namespace megalith
