// Data of multi-token prediction, which the host derives from a batch. Each position gets the value that is `by`
// positions later in the same sequence, else 0. If attention is limited to documents, the value must be in the same
// document.
#pragma once
#include "base/batch.h"

namespace megalith {

// Shifts the batch's array `name` [b,s].
Batch::Array shifted(const Batch& batch, const std::string& name, i64 by);

}  // namespace megalith
