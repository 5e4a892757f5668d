// Kernels of Activate and ActivateGrad.
#include "exec/cuda/kernels/activate.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/supported.h"

namespace megalith::cuda {

static ActivateLaunch launch_of(std::string_view op, Act act, const Type& x, const Shape& shape) {
  check_activation(op, x.dtype);
  const ActKind kind = act == Act::gelu        ? ActKind::gelu
                       : act == Act::gelu_tanh ? ActKind::gelu_tanh
                                               : ActKind::squared_relu;
  return {kind, x.dtype, count(shape)};
}

Kernel prepare(const Activate& op, const Site& site) {
  const ActivateLaunch l = launch_of(op.name, op.act, site.ins[0], site.in_shape(0));
  return {0, [l](const Args& a) { launch_activate(l, a.ins[0], a.outs[0], a.stream); }};
}

Kernel prepare(const ActivateGrad& op, const Site& site) {
  const ActivateLaunch l = launch_of(op.name, op.act, site.ins[1], site.in_shape(1));
  return {0, [l, again = op.again](const Args& a) {
            launch_activate_grad(l, {a.ins[0], a.ins[1], a.outs[0], again ? a.outs[1] : nullptr}, a.stream);
          }};
}

}  // namespace megalith::cuda
