// A node as one rank sees it, and the properties of its GPU that kernels depend on. These files need neither a GPU nor
// CUDA. So a plan for a GPU can be made without one, from the same code that prepares the kernels.
#pragma once
#include <vector>

#include "exec/cuda_needs/gpu_sizes.h"
#include "graph/graph.h"

namespace megalith::cuda {

// Buffers are dense, row-major, with the local sizes, and start at multiples of 256 bytes.
struct LocalNode {
  const Mesh& mesh;
  Coord coord;
  std::vector<Type> ins, outs;  // logical types
  GpuSizes gpu;

  Shape in_shape(int i) const { return local_shape(mesh, ins[size_t(i)].shape, ins[size_t(i)].layout); }
  Shape out_shape(int i) const { return local_shape(mesh, outs[size_t(i)].shape, outs[size_t(i)].layout); }
};

}  // namespace megalith::cuda
