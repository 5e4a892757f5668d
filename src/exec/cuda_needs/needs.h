// The workspace of a node's kernel on a GPU, computed without that GPU. Our own kernels are counted by their
// preparation. For the libraries' kernels the caller must know it.
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
  // A kernel of our own, whose workspace depends on the driver, was counted with its maximum.
  virtual void bounded(std::string_view op) const = 0;
};

i64 needed_workspace(const AnyOp& op, const LocalNode& node, const LibraryNeeds& library);

}  // namespace megalith::cuda
