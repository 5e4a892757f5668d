// The interface of CPU kernels. Sizes are known before the first step, so prepare() runs once for each instruction of
// the plan. It makes oneDNN primitives and tables, and computes the workspace size. The kernel then runs many times.
// kernels/ has one file per op family; ops.def lists the ops.
#pragma once
#include <functional>

#include "comm/ranks.h"
#include "ops/all.h"

namespace megalith::cpu {

// One node on one rank. Buffers are dense and row-major, with the rank's local sizes.
struct KernelContext {
  const Mesh& mesh;
  Coord coord;
  std::vector<Type> ins, outs;  // logical types
  Ranks* ranks = nullptr;       // ranks between which relayouts move data; null while memory is planned
  std::string tag = {};         // the node's place in the model

  Shape in_shape(int i) const { return local_shape(mesh, ins[i].shape, ins[i].layout); }
  Shape out_shape(int i) const { return local_shape(mesh, outs[i].shape, outs[i].layout); }
  // This rank's global indices along a dim of input i, in local order.
  std::vector<i64> in_indices(int i, int dim) const { return indices(mesh, ins[i].shape, ins[i].layout, coord, dim); }
};

struct Args {
  std::span<std::byte*const> ins, outs;  // outs[k] == ins[j] only if the op's aliases() allow it
  std::byte* workspace = nullptr;        // 64-byte aligned, Kernel::workspace bytes, contents undefined
  bool first_micro_batch = false;        // of a step: overwrites accumulators with `starts`

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
  i64 workspace = 0;  // bytes
  std::function<void(const Args&)> run;
  std::function<void(const Args&)> finish = {};  // for a relayout on a lane: ends the transfer that run() began
};

#define OP(T) Kernel prepare(const T& op, const KernelContext& context);
#include "ops/ops.def"
#undef OP

// The same for any op of ops.def.
Kernel prepare_any(const AnyOp& op, const KernelContext& context);

}  // namespace megalith::cpu
