// Dropout, with the CPU's hash, so a mask is the same on every device.
#include "exec/cuda/kernels/dropout.h"

#include <cmath>

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const Dropout& op, const KernelContext& context) {
  const auto [ins, outs] = split_spec(op.spec);
  const size_t batch = ins[0].find(ins[1]);
  check_activation(op.name, context.ins[0].dtype);
  check(ins[1].size() == 1 && batch + 1 < ins[0].size(), "[dropout] spec {}: want the batch letter before the last",
        op.spec);
  check(ins[0].size() <= size_t(DropoutLaunch::kMostDims), "[dropout] spec {}: want at most {} dims", op.spec,
        DropoutLaunch::kMostDims);
  check(op.p >= 0 && op.p < 1, "[dropout] p = {}: want 0 <= p < 1", op.p);
  DropoutLaunch l{context.ins[0].dtype,
                  op.seed,
                  u64(std::ceil(op.p * 0x1p53)),
                  float(1 / (1 - op.p)),
                  int(ins[0].size()),
                  int(batch),
                  {},
                  1,
                  1,
                  false};
  for (int d = 0; d < l.dims; ++d) l.index[d] = indices_of(context, 0, d);
  for (int d = 0; d + 1 < l.dims; ++d) l.outer *= l.index[d].n;
  l.inner = l.index[l.dims - 1].n;
  constexpr i64 kMostColumns = 65535 * 256;  // limit by the grid's second dimension
  check(context.ins[0].shape.back() < i64{1} << 31 && l.inner <= kMostColumns && l.outer < i64{1} << 31,
        "[dropout] {} is larger than the CUDA kernel takes", to_string(context.ins[0]));
  l.packs = runs_divide(l.index[l.dims - 1], 16 / size_of(l.x));
  return {0, [l](const Args& a) { launch(l, a.ins[0], a.in<i64>(1), a.outs[0], a.stream); }};
}

}  // namespace megalith::cuda
