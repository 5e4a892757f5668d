// A gradient whose bias is added up by a pass of its own, where its kernel cannot do it on the way.
#pragma once
#include <algorithm>

#include "exec/cuda/kernel.h"

namespace megalith::cuda {

// `gradient`, then the sum over the rows of its first result as its result number `bias`. letters: of that result.
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
