#include "ops/ragged.h"

namespace megalith {

namespace {

AxisList ragged(const AxisList& list) {
  AxisList out = list;
  for (AxisUse& use : out) use.order = Order::ragged;
  return out;
}

// Appends the dims of t, from `first` on, to those of `to`.
void add_dims(const Type& t, size_t first, Type& to) {
  to.shape.insert(to.shape.end(), t.shape.begin() + i64(first), t.shape.end());
  to.layout.dims.insert(to.layout.dims.end(), t.layout.dims.begin() + i64(first), t.layout.dims.end());
}

Type without_dims(const Type& t) { return {t.dtype, {}, {{}, t.layout.partial, t.layout.copy, t.layout.max}}; }

}  // namespace

AxisList ragged_tokens(const Layout& x) {
  AxisList out = ragged(x.dims.at(0)), batch = ragged(x.dims.at(1));
  out.insert(out.end(), batch.begin(), batch.end());
  for (const AxisUse& use : out)
    if (!groups::expert_data.has(use.axis))
      fail("tokens are split over {}: bring them to Copy over ep and etp first", name_of(use.axis));
  return out;
}

Type rows_as_letters(const Type& rows, i64 e) {
  Type out = without_dims(rows);
  AxisList n, of_experts;
  for (const AxisUse& use : rows.layout.dims.at(0)) {
    check(use.order == Order::ragged, "rows of experts are split by expert");
    (groups::expert.has(use.axis) ? of_experts : n).push_back(use);
  }
  for (AxisUse& use : of_experts) use.order = Order::block;
  out.shape = {e, rows.shape[0]};
  out.layout.dims = {of_experts, n};
  add_dims(rows, 1, out);
  return out;
}

Type tokens_as_letters(const Type& x, i64 n) {
  Type out = without_dims(x);
  out.shape = {n};
  out.layout.dims = {ragged_tokens(x.layout)};
  add_dims(x, 2, out);
  return out;
}

Type ends_as_letters(const Type& ends, i64 n) {
  Type out = without_dims(ends);
  out.shape = {n, ends.shape.at(1)};
  out.layout.dims = {ragged(ends.layout.dims.at(0)), ends.layout.dims.at(1)};
  return out;
}

Type slots_as_letters(const Type& slots, i64 e, i64 n) {
  Type tokens = slots;
  tokens.shape.erase(tokens.shape.begin());
  tokens.layout.dims.erase(tokens.layout.dims.begin());
  Type out = tokens_as_letters(tokens, n);
  out.shape.insert(out.shape.begin(), e);
  out.layout.dims.insert(out.layout.dims.begin(), slots.layout.dims.at(0));
  return out;
}

Type rows_of_letters(Type t) {
  AxisList n = t.layout.dims.at(1);
  const AxisList e = ragged(t.layout.dims[0]);
  n.insert(n.end(), e.begin(), e.end());
  t.shape.erase(t.shape.begin());
  t.layout.dims.erase(t.layout.dims.begin());
  t.layout.dims[0] = std::move(n);
  return t;
}

Type tokens_of_letters(const Type& t, const Type& slots) {
  Type out = without_dims(t);
  out.shape = {slots.shape.at(1), slots.shape.at(2)};
  out.layout.dims = {slots.layout.dims.at(1), slots.layout.dims.at(2)};
  add_dims(t, 1, out);
  return out;
}

std::vector<Type> infer_letters(const LayoutRule& rule, const InferArgs& a, std::vector<Type> ins,
                                const std::vector<DType>& dtypes) {
  return infer_by_rule(rule, {a.mesh, std::move(ins), a.wants_grad}, dtypes);
}

}  // namespace megalith
