#include "ops/expert_bias.h"

namespace megalith {

namespace {

// The letters of rows [n,...] after "en". They are also those of a bias after "e".
std::string rest_of(const Type& rows) {
  check(rows.ndim() >= 1 && rows.ndim() <= 4, "rows of {} dims", rows.ndim());
  return std::string("xyz").substr(0, size_t(rows.ndim() - 1));
}

}  // namespace

std::vector<Type> ExpertBias::infer(const InferArgs& a) const {
  check(a.ins.size() == 3u + weighted, "got {} inputs", a.ins.size());
  const Type &rows = a.ins[0], &ends = a.ins[2];
  const i64 e = ends.dim(1);
  const std::string r = rest_of(rows);
  std::vector<Type> ins = {rows_as_letters(rows, e), a.ins[1], ends_as_letters(ends, rows.dim(0))};
  if (weighted) ins.push_back(rows_as_letters(a.ins[3], e));
  const LayoutRule rule{.spec = "en" + r + ",e" + r + ",ne" + (weighted ? ",en" : "") + "->en" + r, .linear = {{0, 1}}};
  return {rows_of_letters(infer_letters(rule, a, std::move(ins), {})[0])};
}

std::vector<Value> ExpertBias::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  const Value bias = n.ins[1], ends = b.saved(n.ins[2]);
  Value db, dw;
  std::vector<Value> ins = {dys[0], ends};
  if (weighted) ins.push_back(b.saved(n.ins[3]));
  if (b.wants_grad(bias)) db = b.add1(SumExpertRows{b.grad_dtype(bias), weighted}, ins);
  if (!weighted) return {dys[0], db, {}};
  if (b.wants_grad(n.ins[3])) dw = b.add1(DotExpertBias{}, {dys[0], bias, ends});
  return {dys[0], db, {}, dw};
}

std::vector<Type> SumExpertRows::infer(const InferArgs& a) const {
  check(a.ins.size() == 2u + weighted, "got {} inputs", a.ins.size());
  const Type &rows = a.ins[0], &ends = a.ins[1];
  const i64 e = ends.dim(1);
  const std::string r = rest_of(rows);
  std::vector<Type> ins = {rows_as_letters(rows, e), ends_as_letters(ends, rows.dim(0))};
  if (weighted) ins.push_back(rows_as_letters(a.ins[2], e));
  const LayoutRule rule{.spec = "en" + r + ",ne" + (weighted ? ",en" : "") + "->e" + r, .linear = {{0}}};
  return infer_letters(rule, a, std::move(ins), {dtype});
}

std::vector<Type> DotExpertBias::infer(const InferArgs& a) const {
  check(a.ins.size() == 3, "got {} inputs", a.ins.size());
  const Type &rows = a.ins[0], &ends = a.ins[2];
  const std::string r = rest_of(rows);
  std::vector<Type> ins = {rows_as_letters(rows, ends.dim(1)), a.ins[1], ends_as_letters(ends, rows.dim(0))};
  const LayoutRule rule{.spec = "en" + r + ",e" + r + ",ne->en", .linear = {{0}, {1}}};
  return {rows_of_letters(infer_letters(rule, a, std::move(ins), {accum_of(rows.dtype)})[0])};
}

Value expert_bias(Builder& b, Value rows, Value bias, Value ends, Value weights) {
  if (!weights) return b.add1(ExpertBias{}, {rows, bias, ends});
  return b.add1(ExpertBias{true}, {rows, bias, ends, weights});
}

}  // namespace megalith
