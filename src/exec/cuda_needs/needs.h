// The workspace of a node's kernel on a GPU, computed without that GPU. For our own kernels the code of their
// preparation counts it. For the libraries' kernels the caller must know it.
#pragma once
#include <optional>

#include "exec/cuda_needs/cudnn_problem.h"
#include "exec/cuda_needs/gemm_problem.h"
#include "ops/all.h"

namespace megalith::cuda {

class LibraryNeeds {
 public:
  virtual ~LibraryNeeds() = default;
  // Bytes. Nothing if the library does not support the product or attention.
  virtual std::optional<i64> product(const GemmProblem& problem) const = 0;
  virtual std::optional<i64> attention(const CudnnAttention& problem) const = 0;
  // Called if the workspace of one of our kernels depends on the driver; its maximum was counted.
  virtual void bounded(std::string_view op) const = 0;
};

// False: the op needs none, whatever its operands.
bool may_need_workspace(const AnyOp& op);

i64 needed_workspace(const AnyOp& op, const LocalNode& node, const LibraryNeeds& library);

}  // namespace megalith::cuda
