// A node as one rank sees it, and what of its GPU decides how kernels go about it. Nothing here takes a GPU or CUDA: by
// these files a plan for a GPU is made where there is none, and the kernels themselves are prepared by the same.
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
