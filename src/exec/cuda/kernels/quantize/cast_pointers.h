// The device pointers and the rule of a cast's run.
#pragma once
#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/quantize/quantize.h"

namespace megalith::cuda {

static_assert(int(CodeKind::e2m1) == int(CodeFormat::e2m1) && int(ScaleKind::kept) == int(Scaling::kept));

// x, [amax], [state] -> codes or codes_t, scale_inv, [amax]; or codes_t after them.
inline CastPointers cast_pointers(const Quantize& op, const Args& a) {
  CastPointers p{.x = a.ins[0],
                 .amax = nullptr,
                 .state = nullptr,
                 .seen = nullptr,
                 .codes = nullptr,
                 .codes_t = nullptr,
                 .scale_inv = a.out<float>(1),
                 .counts = op.counts ? a.out<unsigned long long>(op.counts_at()) : nullptr};
  if (op.takes_amax()) p.amax = a.in<float>(1);
  if (op.scaling == Scaling::kept) p.state = a.in<float>(1 + int(op.takes_amax())) + op.at;
  if (op.gives_amax) p.seen = reinterpret_cast<u32*>(a.out<float>(2));
  (op.orders == CodeOrders::transposed ? p.codes_t : p.codes) = a.out<u8>(0);
  if (op.orders == CodeOrders::both) p.codes_t = a.out<u8>(op.transpose_at());
  return p;
}

inline ScaleRuleOfBox rule_of(const Quantize& op) { return {CodeKind(op.format), ScaleKind(op.scaling)}; }

}  // namespace megalith::cuda
