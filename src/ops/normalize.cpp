#include "ops/normalize.h"

namespace megalith {

std::vector<Type> Normalize::infer(const InferArgs& a) const {
  check(a.ins.size() == 1 && a.ins[0].ndim() > 1, "{} inputs, of which one with several dims is wanted", a.ins.size());
  const Type& x = a.ins[0];
  for (size_t d = 1; d < x.layout.dims.size(); ++d)
    check(x.layout.dims[d].empty(), "the norm of {} is over a dim that is split", to_string(x));
  check(x.layout.partial.empty() && x.layout.max.empty(), "the norm of {}, which is not summed", to_string(x));
  return {x};
}

}  // namespace megalith
