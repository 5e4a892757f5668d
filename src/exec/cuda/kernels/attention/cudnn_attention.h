// Plans for cuDNN's scaled-dot-product attention. A plan is built once for a problem (hundreds of milliseconds), shared
// by all layers, and run many times. q, o, do, dq are seen as [b, h, s, d] through the strides of [s,b,g,r,d] (h: g and
// r as one dim). k, v, dk, dv are seen through those of [s,b,g,d]. Only the log-sum-exp is transposed: cuDNN before
// 9.26 needs it packed as [b, h, s].
#pragma once
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "exec/cuda/device.h"
#include "exec/cuda_needs/cudnn_problem.h"

namespace megalith::cuda {

class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual i64 workspace() const = 0;  // bytes
  // Enqueues; may be captured into a graph, which must not outlive the plan. Forward: q, k, v, o, lse. Backward: q, k,
  // v, o, do, lse, dq, dk, dv. lse: [b, h, s], packed. With lengths i32 [b] follow: queries, then keys of each
  // sequence. With a bias [h, s, t] follows; forward only.
  virtual void run(cudaStream_t stream, std::span<void* const> tensors, std::byte* workspace) const = 0;
};

class AttentionPlans {
 public:
  explicit AttentionPlans(Device& device) : device_(device) {}

  struct Found {
    std::shared_ptr<const CudnnPlan> plan;  // null if cuDNN refuses
    std::string refusal;
  };
  const Found& find(const CudnnAttention& problem);
  const std::map<CudnnAttention, Found>& all() const { return found_; }  // so far

  void say_once(const std::string& line);  // to the log

 private:
  Device& device_;
  std::map<CudnnAttention, Found> found_;
  std::set<std::string> said_;
};

// The version number of the loaded library.
i64 cudnn_version();

}  // namespace megalith::cuda
