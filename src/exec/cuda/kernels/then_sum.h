// A gradient followed by a separate sum for the bias, if the gradient's kernel cannot compute it.
#pragma once
#include <algorithm>

#include "exec/cuda/kernel.h"

namespace megalith::cuda {

// Runs `gradient`, then the sum over the rows of its first result, as result number `bias`. letters: of the first
// result.
inline Kernel then_sum(const Kernel& gradient, const KernelContext& context, const std::string& letters, int bias) {
  const Type& dx = context.outs[0];
  const Type& to = context.outs[size_t(bias)];
  const Kernel sum = prepare(Sum{letters + "->" + letters.back(), to.dtype},
                             {context.mesh, context.coord, {dx}, {to}, context.device});
  return {std::max(gradient.workspace, sum.workspace), [gradient, sum, bias](const Args& a) {
            gradient.run(a);
            Args rest = a;
            rest.ins = a.outs.first(1), rest.outs = a.outs.subspan(size_t(bias), 1);
            sum.run(rest);
          }};
}

}  // namespace megalith::cuda
