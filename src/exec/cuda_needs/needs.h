// How much workspace a node's kernel needs on a GPU beside its buffers, asked without that GPU. Kernels of our own are
// counted by what they are prepared by themselves; of the libraries' somebody else must know.
#pragma once
#include <optional>

#include "exec/cuda_needs/cudnn_problem.h"
#include "exec/cuda_needs/gemm_problem.h"
#include "ops/all.h"

namespace megalith::cuda {

class LibraryNeeds {
 public:
  virtual ~LibraryNeeds() = default;
  // Bytes; nothing: the library has no such product or attention.
  virtual std::optional<i64> product(const GemmProblem& problem) const = 0;
  virtual std::optional<i64> attention(const CudnnAttention& problem) const = 0;
  // A kernel of our own whose workspace depends on what the driver says was given the most that it can be.
  virtual void bounded(std::string_view op) const = 0;
};

i64 needed_workspace(const AnyOp& op, const LocalNode& node, const LibraryNeeds& library);

}  // namespace megalith::cuda
