// Data of multi-token prediction, which the host makes of a batch's: each position has what stands `by` positions
// behind it, in the same sequence and, where attention stays in documents, in the same document; else 0.
#pragma once
#include "base/batch.h"

namespace megalith {

// Of the batch's array `name` [b,s].
Batch::Array shifted(const Batch& batch, const std::string& name, i64 by);

}  // namespace megalith
