// The interface of CPU kernels. Sizes are known before the first step. So an op's kernel is prepared once for each
// instruction of the plan (oneDNN primitives, tables, workspace size), and then runs many times. One file per op family
// in kernels/; the list is ops.def.
#pragma once
#include <functional>

#include "comm/ranks.h"
#include "ops/all.h"

namespace megalith::cpu {

// One node as one rank sees it. Buffers are dense, row-major, with the local sizes.
struct KernelContext {
  const Mesh& mesh;
  Coord coord;
  std::vector<Type> ins, outs;  // logical types
  Ranks* ranks = nullptr;       // whom relayouts move data between; not there while memory is planned
  std::string tag = {};         // where in the model

  Shape in_shape(int i) const { return local_shape(mesh, ins[i].shape, ins[i].layout); }
  Shape out_shape(int i) const { return local_shape(mesh, outs[i].shape, outs[i].layout); }
  // The global indices along a dim of input i that this rank holds, in local order.
  std::vector<i64> in_indices(int i, int dim) const { return indices(mesh, ins[i].shape, ins[i].layout, coord, dim); }
};

struct Args {
  std::span<std::byte*const> ins, outs;  // outs[k] == ins[j] only where the op's aliases() say so
  std::byte* workspace = nullptr;        // 64-byte aligned, Kernel::workspace bytes, contents undefined
  bool first_micro_batch = false;        // of a step: accumulators with `starts` are overwritten

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
  std::function<void(const Args&)> finish = {};  // of a relayout on a lane: ends what run() began
};

#define OP(T) Kernel prepare(const T& op, const KernelContext& context);
#include "ops/ops.def"
#undef OP

// The same for any op, by ops.def.
Kernel prepare_any(const AnyOp& op, const KernelContext& context);

}  // namespace megalith::cpu
