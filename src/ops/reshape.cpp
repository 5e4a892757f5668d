#include "ops/reshape.h"

namespace megalith {

static std::string reversed(const std::string& spec) {
  const size_t arrow = spec.find("->");
  return spec.substr(arrow + 2) + "->" + spec.substr(0, arrow);
}

// If a dim of size 1 is split off, its axes may be on it or on the remaining dim: both join to the same type.
static bool is_of(const Result& r, const Type& t) { return r.shape == t.shape && r.layout.dims == t.layout.dims; }

std::vector<Type> Reshape::infer(const InferArgs& a) const {
  const Type& x = a.ins.at(0);
  const Operand in{x.shape, x.layout, a.wants_grad.at(0)};
  if (back_to.empty()) {
    Result r = infer_reshape(a.mesh, spec, sizes, in);
    return {{x.dtype, std::move(r.shape), std::move(r.layout)}};
  }
  const Type& t = back_to[0];
  const Result forth = infer_reshape(a.mesh, reversed(spec), sizes, {t.shape, t.layout, true});
  check(is_of(forth, x) || is_of(infer_reshape(a.mesh, spec, sizes, in), t), "{}: {} does not come from {}", spec,
        to_string(x), to_string(t));
  Layout l = x.layout;
  l.dims = t.layout.dims;
  return {{x.dtype, t.shape, std::move(l)}};
}

std::vector<Value> Reshape::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(Reshape{reversed(spec), sizes, {b.type(n.ins[0])}}, {dys[0]})};
}

}  // namespace megalith
