// Performs a relayout on all ranks of a test, from the types before and after.
#pragma once
#include "graph/relayout_op.h"
#include "tests/harness/tensor.h"

namespace megalith::harness {

Blocks move(const Mesh& mesh, const Relayout& op, const Type& from, const Type& to, const Blocks& xs);

}  // namespace megalith::harness
