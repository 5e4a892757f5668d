// The two ends of a model: the table of words, the weight of the logits, and their losses.
#pragma once
#include "models/blocks/parts.h"

namespace megalith {

// [v,h]. `blocks`: of the model, that read it.
Value word_embeddings(Parts& parts, const std::vector<int>& blocks = {});

// [v,h]: one of its own, or the table.
Value head_weight(Parts& parts, Value table);

// logits [s,b,v], split over tp, labels [s,b] -> cross entropies [s,b]
Value vocabulary_losses(Parts& parts, Value logits, Value labels);

}  // namespace megalith
