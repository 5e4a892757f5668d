// y = k * x, and y = x in another element type.
#include "exec/cuda/kernels/scale.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static Kernel scaled(std::string_view op, const Site& site, double k) {
  check_number(op, site.ins[0].dtype), check_number(op, site.outs[0].dtype);
  const ScaleLaunch l{site.ins[0].dtype, site.outs[0].dtype, k, count(site.out_shape(0))};
  return {0, [l](const Args& a) { launch(l, a.ins[0], a.outs[0], a.stream); }};
}

Kernel prepare(const Scale& op, const Site& site) { return scaled(op.name, site, op.k); }
Kernel prepare(const Cast& op, const Site& site) { return scaled(op.name, site, 1); }
Kernel prepare(const PutBack& op, const Site& site) { return scaled(op.name, site, 1); }

}  // namespace megalith::cuda
