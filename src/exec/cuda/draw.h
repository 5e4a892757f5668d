// draw() of graph/draw.h on the GPU, into f32, bf16 or the low half of f32 (u16, base/split_float.h).
#pragma once
#include "exec/cuda/device.h"
#include "graph/draw.h"

namespace megalith::cuda {

// Enqueues. Error if a dim of the block has more than kMostRuns runs of global indices.
void draw(const Draw& d, const Type& type, const Mesh& mesh, const Coord& coord, std::byte* out, cudaStream_t stream);

}  // namespace megalith::cuda
