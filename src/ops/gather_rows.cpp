#include "ops/gather_rows.h"

namespace megalith {

namespace {

// The types of the plan, inputs 1 to 3, as letters: "ne", "en", "enk".
std::vector<Type> plan_as_letters(const InferArgs& a) {
  check(a.ins.size() >= 4, "want a value and the plan, got {} inputs", a.ins.size());
  const i64 e = a.ins[1].dim(1), n = a.ins[2].dim(0);
  return {ends_as_letters(a.ins[1], n), rows_as_letters(a.ins[2], e), slots_as_letters(a.ins[3], e, n)};
}

Type infer_with_plan(const InferArgs& a, const Type& value, const LayoutRule& rule) {
  std::vector<Type> ins = plan_as_letters(a);
  ins.insert(ins.begin(), value);
  const InferArgs four{a.mesh, {}, {a.wants_grad.begin(), a.wants_grad.begin() + 4}};
  return infer_letters(rule, four, std::move(ins), {})[0];
}

void check_tokens(const InferArgs& a) {
  const Type &x = a.ins[0], &slots = a.ins.at(3);
  if (x.ndim() != 3 || x.dim(0) != slots.dim(1) || x.dim(1) != slots.dim(2) ||
      x.layout.dims[0] != slots.layout.dims[1] || x.layout.dims[1] != slots.layout.dims[2])
    fail("tokens are {}, and those of the plan {}", to_string(x), to_string(slots));
}

void check_rows(const InferArgs& a) {
  const Type &rows = a.ins[0], &source = a.ins.at(2);
  if (rows.ndim() == 0 || rows.dim(0) != source.dim(0))
    fail("rows are {}, and those of the plan {}", to_string(rows), to_string(source));
}

std::vector<Value> with_plan(Builder& b, Value v, const Node& n) {
  return {v, b.saved(n.ins[1]), b.saved(n.ins[2]), b.saved(n.ins[3])};
}

}  // namespace

std::vector<Type> GatherRows::infer(const InferArgs& a) const {
  check_tokens(a);
  const Type x = tokens_as_letters(a.ins[0], a.ins[2].dim(0));
  return {rows_of_letters(infer_with_plan(a, x, {.spec = "nh,ne,en,enk->enh", .linear = {{0}}, .whole = "k"}))};
}

std::vector<Value> GatherRows::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(CombineRows{.filled = filled}, with_plan(b, dys[0], n)), {}, {}, {}};
}

std::vector<Type> CombineRows::infer(const InferArgs& a) const {
  check_rows(a);
  const Type rows = rows_as_letters(a.ins[0], a.ins[1].dim(1));
  const Type y = infer_with_plan(a, rows, {.spec = "enh,ne,en,enk->nh", .linear = {{0}}, .whole = "k"});
  const Type out = tokens_of_letters(y, a.ins[3]);
  check(a.ins.size() == 4u + adds, "got {} inputs", a.ins.size());
  if (adds) check(a.ins[4] == out, "adds {} and {}", to_string(out), to_string(a.ins[4]));
  return {out};
}

std::vector<Value> CombineRows::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  check(!adds, "the gradient of a fused sum");
  return {b.add1(GatherRows{.filled = filled}, with_plan(b, dys[0], n)), {}, {}, {}};
}

std::vector<Type> GatherWeights::infer(const InferArgs& a) const {
  check_tokens(a);
  check(a.ins[0].dim(2) == a.ins[3].dim(3), "weights of {} slots, and the plan has {}", a.ins[0].dim(2),
        a.ins[3].dim(3));
  const Type p = tokens_as_letters(a.ins[0], a.ins[2].dim(0));
  return {rows_of_letters(infer_with_plan(a, p, {.spec = "nk,ne,en,enk->en", .linear = {{0}}, .whole = "k"}))};
}

std::vector<Value> GatherWeights::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(GatherWeightsGrad{}, with_plan(b, dys[0], n)), {}, {}, {}};
}

std::vector<Type> GatherWeightsGrad::infer(const InferArgs& a) const {
  check_rows(a);
  const Type dw = rows_as_letters(a.ins[0], a.ins[1].dim(1));
  const Type dp = infer_with_plan(a, dw, {.spec = "en,ne,en,enk->nk", .linear = {{0}}, .whole = "k"});
  return {tokens_of_letters(dp, a.ins[3])};
}

Value gather_rows(Builder& b, Value x, const ExpertPlan& plan) {
  return b.add1(GatherRows{.filled = plan.filled}, {x, plan.ends, plan.source, plan.slots});
}
Value combine_rows(Builder& b, Value rows, const ExpertPlan& plan) {
  return b.add1(CombineRows{.filled = plan.filled}, {rows, plan.ends, plan.source, plan.slots});
}
Value gather_weights(Builder& b, Value p, const ExpertPlan& plan) {
  return b.add1(GatherWeights{}, {p, plan.ends, plan.source, plan.slots});
}

}  // namespace megalith
