// Makes block_runs.h's numbers from a type.
#pragma once
#include "exec/cuda/block_runs.h"
#include "graph/type.h"

namespace megalith::cuda {

// Error if the type has more than kMostDims dims, or a dim more than kMostRuns runs.
BlockRuns runs_of(const Type& type, const Mesh& mesh, const Coord& coord);

}  // namespace megalith::cuda
