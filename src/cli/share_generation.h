// The ranks that share a `generate`.
#pragma once
#include "generate/generation_ranks.h"
#include "models/config.h"
#include "settings/parallel.h"

namespace megalith {

// The layout of the flags for this model and these ranks. Error if the ranks are more or fewer, or cannot share the
// model. One rank generates alone, whatever the flags say. Sets the model's padded vocabulary.
GenerationRanks share_generation(ParallelConfig layout, ModelConfig& model, Ranks& ranks);

}  // namespace megalith
