// Kernels of LatentKeys and LatentKeysGrad: copies of boxes, and the sum over heads.
#include "exec/cuda/kernels/latent_keys.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/box_copy.h"
#include "exec/cuda_needs/supported.h"
#include "mesh/pieces.h"

namespace megalith::cuda {

Kernel prepare(const LatentKeys& op, const KernelContext& context) {
  check_activation(op.name, context.ins[0].dtype);
  const Shape kv = context.in_shape(0);
  const i64 rows = kv[0] * kv[1], heads = kv[2], element = size_of(context.ins[0].dtype);
  const i64 of_kv = op.own + op.value, of_k = op.own + op.shared;
  BoxCopyList own, shared;  // v takes the argument of the list's workspace
  own.add(Box{0, 0, {rows * heads, op.own}, {of_kv, 1}, {of_k, 1}}, element, {Memory::in}, {Memory::out});
  own.add(Box{op.own, 0, {rows * heads, op.value}, {of_kv, 1}, {op.value, 1}}, element, {Memory::in},
          {Memory::workspace});
  shared.add(Box{0, op.own, {rows, heads, op.shared}, {op.shared, 0, 1}, {heads * of_k, of_k, 1}}, element,
             {Memory::in}, {Memory::out});
  return {0, [own, shared](const Args& a) {
            own.run(a.ins[0], a.outs[0], a.outs[1], a.stream);
            shared.run(a.ins[1], a.outs[0], nullptr, a.stream);
          }};
}

Kernel prepare(const LatentKeysGrad& op, const KernelContext& context) {
  check_activation(op.name, context.ins[0].dtype);
  const Shape kv = context.out_shape(0);
  const i64 rows = kv[0] * kv[1], heads = kv[2], element = size_of(context.ins[0].dtype);
  const i64 of_kv = op.own + op.value, of_k = op.own + op.shared;
  BoxCopyList own;  // dv takes the argument of the list's workspace
  own.add(Box{0, 0, {rows * heads, op.own}, {of_k, 1}, {of_kv, 1}}, element, {Memory::in}, {Memory::out});
  own.add(Box{0, op.own, {rows * heads, op.value}, {op.value, 1}, {of_kv, 1}}, element, {Memory::workspace},
          {Memory::out});
  const SharedKeyGrad sum{context.ins[0].dtype, rows, heads, op.own, op.shared};
  return {0, [own, sum](const Args& a) {
            own.run(a.ins[0], a.outs[0], a.ins[1], a.stream);
            launch(sum, a.ins[0], a.outs[1], a.stream);
          }};
}

}  // namespace megalith::cuda
