// y = k * x, and y = x in another element type.
#include "exec/cuda/kernels/scale.h"

#include "exec/cuda/kernel.h"

namespace megalith::cuda {

static Kernel scaled(const Site& site, double k) {
  const ScaleLaunch l{site.ins[0].dtype, site.outs[0].dtype, k, count(site.out_shape(0))};
  return {0, [l](const Args& a) { launch(l, a.ins[0], a.outs[0], a.stream); }};
}

Kernel prepare(const Scale& op, const Site& site) { return scaled(site, op.k); }
Kernel prepare(const Cast&, const Site& site) { return scaled(site, 1); }

}  // namespace megalith::cuda
