// Rotary embedding.
#include "exec/cuda/kernels/rope.h"

#include <numbers>

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/quantize/quantize.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const Rope& op, const KernelContext& context) {
  check_activation(op.name, context.ins[0].dtype);
  const Shape x = context.in_shape(0);
  const i64 dims = op.freq.dims;
  check(dims % 2 == 0 && op.first + dims <= x.back(),
        "[rope] {} of {} dims rotate after {}: want an even number, at most all", dims, x.back(), op.first);
  check(op.first == 0 || op.interleaved, "[rope] dims that pass before the others: the CUDA kernel turns neighbours");
  check(x.back() <= RopeLaunch::kMostDims, "[rope] heads of {} dims: the CUDA kernel takes at most {}", x.back(),
        RopeLaunch::kMostDims);
  RopeLaunch l{.x = context.ins[0].dtype,
               .s = x[0],
               .b = x[1],
               .heads = 1,
               .turned = 0,
               .d = int(x.back()),
               .half = int(dims / 2),
               .first = int(op.first),
               .sign = op.sign,
               .amplitude = float(op.freq.amplitude()),
               .interleaved = op.interleaved,
               .by_input = op.positions,
               .index = {},
               .half_turns = {}};
  for (size_t i = 2; i + 1 < x.size(); ++i) l.heads *= x[i];
  check(op.heads == 0 || (x.size() == 4 && op.heads <= l.heads), "[rope] the first {} heads of {} turn", op.heads,
        l.heads);
  l.turned = op.heads > 0 ? op.heads : l.heads;
  if (!op.positions) l.index = indices_of(context, 0, 0);
  const std::vector<double> freq = op.freq.inverse();
  for (size_t i = 0; i < freq.size(); ++i) l.half_turns[i] = freq[i] / std::numbers::pi;
  const AmaxLaunch behind{l.x, count(x)};
  return {0, [l, behind, gives_amax = op.gives_amax](const Args& a) {
            float* amax = gives_amax ? a.out<float>(1) : nullptr;
            launch(l, a.ins[0], l.by_input ? a.in<i32>(1) : nullptr, a.outs[0], l.interleaved ? nullptr : amax,
                   a.stream);
            if (l.interleaved && amax) launch(behind, a.outs[0], amax, a.stream);
          }};
}

}  // namespace megalith::cuda
