// The derived backward: visits the forward's nodes in reverse, and adds their gradients' nodes.
#include "graph/relayout_op.h"

namespace megalith {

Value seed_of(Builder& b, Value loss) {
  Graph& g = b.graph();
  b.set_phase(Phase::backward);
  const Value seed = b.add1(Ones{g.type(loss).dual(g.info(loss).grad_dtype)}, {});
  g.values[seed.id].wants_grad = true;
  return seed;
}

std::map<Value, Value> backward(Builder& b, Value loss) {
  return backward(b, std::map<Value, Value>{{loss, seed_of(b, loss)}});
}

std::map<Value, Value> backward(Builder& b, std::map<Value, Value> cot) {
  Graph& g = b.graph();
  b.set_phase(Phase::backward);
  for (int i = int(g.nodes.size()) - 1; i >= 0; --i) {
    const Node n = g.nodes[i];  // a copy: the rules append nodes
    if (n.phase != Phase::forward) continue;
    std::vector<Value> dys;
    bool any = false;
    for (Value out : n.outs) {
      const auto it = cot.find(out);
      dys.push_back(it == cot.end() ? Value{} : it->second);
      any |= bool(dys.back());
    }
    if (!any) continue;
    b.set_origin(n.origin);
    const std::vector<Value> grads = n.op.grad(b, n, dys);
    check(grads.size() == n.ins.size(), "[{}] its gradient rule gives {} values for {} inputs", n.op.name(),
          grads.size(), n.ins.size());
    for (size_t k = 0; k < grads.size(); ++k) {
      const Value v = n.ins[k], dv = grads[k];
      if (!dv || !b.wants_grad(v)) continue;
      const Type want = g.type(v).dual(g.info(v).grad_dtype);
      if (g.type(dv) != want)
        fail("[{}] {}: the gradient of input {}, {}, is {}: not the dual {}", n.op.name(), to_string(n.origin), k,
             to_string(g.type(v)), to_string(g.type(dv)), to_string(want));
      const auto [it, is_first] = cot.try_emplace(v, dv);
      if (!is_first) it->second = b.add1(AddGrad{want.ndim()}, {it->second, dv});
    }
  }
  return cot;
}

}  // namespace megalith
