// The interface of CUDA kernels. As on the CPU, an op's kernel is prepared once for each instruction of the plan. That
// fixes sizes, library descriptors, launch shape and workspace size. Then it is enqueued many times. One file per op
// family in kernels/; the list is ops.def.
#pragma once
#include <functional>

#include "exec/cuda/device.h"
#include "exec/cuda_needs/local_node.h"
#include "ops/all.h"

namespace megalith::cuda {

class Comms;
class Lane;

struct KernelContext : LocalNode {
  KernelContext(const Mesh& mesh, const Coord& coord, std::vector<Type> ins, std::vector<Type> outs, Device& device,
                Comms* comms = nullptr, std::string tag = {})
      : LocalNode{mesh, coord, std::move(ins), std::move(outs), device.sizes()},
        device(device),
        comms(comms),
        tag(std::move(tag)) {}

  Device& device;
  Comms* comms;     // moves the data of relayouts; null while memory is planned
  std::string tag;  // position in the model
};

struct Args {
  std::span<std::byte*const> ins, outs;  // device memory; outs[k] == ins[j] only if the op's aliases() say so
  std::byte* workspace = nullptr;        // device memory, 256-byte aligned, Kernel::workspace bytes, contents undefined
  bool first_micro_batch = false;        // of a step: accumulators with `starts` are overwritten
  cudaStream_t stream = nullptr;
  // Of an op that overlaps a transfer with its own work: the transfer's lane, and Beside::waits (comms.h).
  Lane* lane = nullptr;
  std::function<void(bool)> waits = {};

  template <class T>
  const T* in(int i) const {
    return reinterpret_cast<const T*>(ins[i]);
  }
  template <class T>
  T* out(int i) const {
    return reinterpret_cast<T*>(outs[i]);
  }
};

struct Kernel {
  i64 workspace = 0;  // bytes; at no rank or position more than at the one that memory is planned for
  // Enqueues on args.stream and returns. It never waits, allocates or reads back, because it is captured into a graph.
  // The same inputs give the same bits.
  std::function<void(const Args&)> run;
  // Chooses among several algorithms by running them. Called once, before the buffers have contents. It may write to
  // all of them, and may block.
  std::function<void(const Args&)> tune = {};
};

#define OP(T) Kernel prepare(const T& op, const KernelContext& context);
#include "ops/ops.def"
#undef OP

// The same for any op, by ops.def.
Kernel prepare_any(const AnyOp& op, const KernelContext& context);

}  // namespace megalith::cuda
