// BERT's two heads as graph.
#pragma once
#include "models/blocks/parts.h"

namespace megalith {

// x [s,b,h] after the last norm, table [v,h] -> logits [s,b,v], split over tp.
Value bert_logits(Parts& parts, Value x, Value table);

// x in the residual stream's layout -> [b,1,2]: the logits of the order of two segments.
Value binary_logits(Parts& parts, Value x);

// Adds the term of the segment order.
void add_order_loss(Parts& parts, Value logits);

}  // namespace megalith
