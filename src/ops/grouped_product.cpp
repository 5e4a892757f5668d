#include "ops/grouped_product.h"

#include <map>

namespace megalith {

namespace {

// "nh" becomes "enh"; a weight's letters do not change.
std::string with_expert(const std::string& letters) { return letters[0] == 'n' ? "e" + letters : letters; }

std::string without_first(const std::string& letters) { return letters.substr(1); }

}  // namespace

std::vector<Type> GroupedProduct::infer(const InferArgs& a) const {
  check(a.ins.size() == 3u + accumulate, "{}: got {} inputs", spec, a.ins.size());
  const auto [in, out] = split_spec(spec);
  check(in.size() == 2 && out.size() == 1 && in[0][0] == 'n', "{}: want 'nh,efh->nf' or a gradient of it", spec);
  const Type& ends = a.ins[2];
  const i64 e = ends.dim(1), n = a.ins[0].dim(0);
  std::vector<Type> ins = {rows_as_letters(a.ins[0], e), sums_rows() ? rows_as_letters(a.ins[1], e) : a.ins[1],
                           ends_as_letters(ends, n)};
  const LayoutRule rule{.spec = with_expert(in[0]) + "," + with_expert(in[1]) + ",ne->" + with_expert(out[0]),
                        .linear = {{0}, {1}}};
  const InferArgs three{a.mesh, {}, {a.wants_grad[0], a.wants_grad[1], false}};
  Type y = infer_letters(rule, three, std::move(ins), {dtype})[0];
  if (!sums_rows()) y = rows_of_letters(std::move(y));
  if (accumulate) check(a.ins[3] == y, "{}: adds {} and {}", spec, to_string(y), to_string(a.ins[3]));
  return {y};
}

std::vector<Value> GroupedProduct::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  check(!sums_rows() && !accumulate, "{}: the gradient of a gradient", spec);
  const auto [ins, outs] = split_spec(spec);
  const std::string &A = ins[0], &B = ins[1], &C = outs[0];
  const Value x = n.ins[0], w = n.ins[1], ends = b.saved(n.ins[2]);
  const auto product = [&](const std::string& spec, DType dtype, Value l, Value r) {
    return b.add1(GroupedProduct{.spec = spec, .dtype = dtype, .filled = filled}, {l, r, ends});
  };
  Value dx, dw;
  if (b.wants_grad(x)) dx = product(C + "," + B + "->" + A, b.grad_dtype(x), dys[0], b.saved(w));
  if (b.wants_grad(w)) {
    // Whether the first operand has the weight's outer letters.
    const bool outer_first = B[1] == C[1];
    const std::string spec = outer_first ? C + "," + A : A + "," + C;
    const Value rows = b.saved(x);
    dw = product(spec + "->" + B, b.grad_dtype(w), outer_first ? dys[0] : rows, outer_first ? rows : dys[0]);
  }
  return {dx, dw, {}};
}

Cost GroupedProduct::cost(Types ins, Types outs) const {
  const GroupedShape s = grouped_shape(*this, ins);
  const double rows = double(s.bound) * filled, w = double(s.experts * s.out * s.in);
  const bool adds = s.sums && accumulate;  // reads what it adds to
  const double weight_size = double(size_of(s.sums ? outs[0].dtype : ins[1].dtype)) * (adds ? 2 : 1);
  // Of sums the rows of both operands, else those of x and y.
  const double of_in = double(size_of(ins[s.sums ? 1 : 0].dtype));
  const double of_out = double(size_of(s.sums ? ins[0].dtype : outs[0].dtype));
  return {2 * rows * double(s.out * s.in), rows * (double(s.in) * of_in + double(s.out) * of_out) + w * weight_size};
}

GroupedShape grouped_shape(const GroupedProduct& op, Types ins) {
  const auto [in, out] = split_spec(op.spec);
  std::map<char, i64> size;
  for (size_t i = 0; i < 2; ++i)
    for (size_t d = 0; d < in[i].size(); ++d) size[in[i][d]] = ins[i].dim(int(d));
  const auto elements = [&](const std::string& letters) {
    i64 n = 1;
    for (const char c : letters) n *= size.at(c);
    return n;
  };
  GroupedShape s;
  s.sums = op.sums_rows(), s.bound = ins[0].dim(0), s.experts = ins[2].dim(1);
  const std::string first = without_first(in[0]), second = without_first(s.sums ? in[1] : out[0]);
  const std::string weight = without_first(s.sums ? out[0] : in[1]);
  if (s.sums) {
    check(weight == first + second, "{}: the operands' letters are not in the order of the result's", op.spec);
    s.out = elements(first), s.in = elements(second);
    return s;
  }
  s.in = elements(first), s.out = elements(second);
  s.transposed = weight == first + second;
  check(s.transposed || weight == second + first, "{}: the weight's letters are mixed", op.spec);
  return s;
}

Value grouped_product(Builder& b, const std::string& spec, Value rows, Value weight, Value ends, double filled) {
  return b.add1(GroupedProduct{.spec = spec, .dtype = b.type(rows).dtype, .filled = filled}, {rows, weight, ends});
}

}  // namespace megalith
