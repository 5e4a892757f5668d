// What block_runs.h says of a type's block.
#pragma once
#include "exec/cuda/block_runs.h"
#include "graph/type.h"

namespace megalith::cuda {

// Error if the type has more than kMostDims dims, or one of them more than kMostRuns runs.
BlockRuns runs_of(const Type& type, const Mesh& mesh, const Coord& coord);

}  // namespace megalith::cuda
