#include "ops/activate.h"

namespace megalith {

std::vector<Value> Activate::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(ActivateGrad{act, ndim}, {dys[0], n.ins[0]})};
}

Value activate(Builder& b, Act act, Value x) { return b.add1(Activate{act, b.type(x).ndim()}, {x}); }

}  // namespace megalith
