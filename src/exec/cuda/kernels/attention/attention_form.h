// The preparation of attention kernels on a GPU, for all keys or a ring's block of them: the location of operands,
// and cuDNN's plans.
#pragma once
#include <array>

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/attention/attention.h"
#include "exec/cuda/kernels/attention/cudnn_attention.h"
#include "exec/cuda_needs/attention_node.h"

namespace megalith::cuda {

// A Form with its GPU.
struct DeviceForm : Form {
  DeviceForm(const AttentionSpec& spec, const KernelContext& where, int first, const Type& result)
      : Form(spec, where, first, result), device(where.device) {}
  Device& device;
};

// Uses two stages of shared memory if they fit. bytes: the shared memory of a block.
void choose_stages(AttentionSizes& z, const Device& device, i64 (*bytes)(const AttentionSizes&));

// The part of a Form that a kernel needs when it runs.
struct Pointers {
  bool packed;
  int starts_at, lengths_at, table_at;  // indices among the inputs from rows on; 0: missing
  i64 keys, values;                     // bytes from q to them, if packed
  int inputs;

  explicit Pointers(const Form& f);
  // From buffers in which q, or dq, is at index `first`.
  std::array<std::byte*, 3> qkv(std::span<std::byte* const> buffers, size_t first) const;
  const i64* rows(const Args& a, int first) const { return a.in<i64>(first); }  // first: the index of rows
  const i32* starts(const Args& a, int first) const { return starts_at ? a.in<i32>(first + starts_at) : nullptr; }
  const i32* lengths(const Args& a, int first) const { return lengths_at ? a.in<i32>(first + lengths_at) : nullptr; }
  const std::byte* table(const Args& a, int first) const {
    return table_at ? a.ins[size_t(first + table_at)] : nullptr;
  }
  AttentionGradBuffers grad_buffers(const Args& a) const;
};

using CudnnPlanPtr = std::shared_ptr<const CudnnPlan>;

// cuDNN's plans, if cuDNN is chosen and has a plan for each problem within this workspace. Logs the choice and its
// reason.
std::vector<CudnnPlanPtr> chosen_plans(const DeviceForm& f, AttentionChoice choice,
                                       const std::vector<CudnnAttention>& problems, std::optional<i64> most = {});

}  // namespace megalith::cuda
