// A relayout between ranks, carried out on all of them at once, by what the types say each rank holds.
#pragma once
#include "graph/relayout_op.h"
#include "tests/harness/tensor.h"

namespace megalith::harness {

Blocks move(const Mesh& mesh, const Relayout& op, const Type& from, const Type& to, const Blocks& xs);

}  // namespace megalith::harness
