// Data of multi-token prediction, which the host derives from a batch. Each position has the value that is `by`
// positions later in the same sequence and, if attention is limited to documents, in the same document; else 0.
#pragma once
#include "base/batch.h"

namespace megalith {

// Of the batch's array `name` [b,s].
Batch::Array shifted(const Batch& batch, const std::string& name, i64 by);

}  // namespace megalith
