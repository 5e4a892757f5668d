#include "tests/ops/check_op.h"

#include "tests/harness/rank_set.h"

namespace megalith::harness {

namespace {

constexpr AxisSet kFirst = groups::context, kSecond = groups::kv_heads;
constexpr double kTolerance = 1e-10;
const std::string kCotangent = "dy";

Tensor cotangent(const Shape& shape) { return random_tensor(shape, 1); }

void add_gradients(Builder& b, const OpCase& c, BuiltCase& built) {
  const Value out = built.outs[0];
  built.dy = b.leaf({kCotangent, b.type(out).dual(b.grad_dtype(out)), Role::input, true});
  b.set_phase(Phase::backward);
  std::vector<Value> dys(built.outs.size());
  dys[0] = built.dy;
  const Node node = built.g.nodes[0];
  const std::vector<Value> grads = node.op.grad(b, node, dys);
  check(grads.size() == c.ins.size(), "gives {} gradients for {} inputs", grads.size(), c.ins.size());
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!c.ins[i].wants_grad) continue;
    check(bool(grads[i]), "gives no gradient of input {}", i);
    const Type want = b.type(built.ins[i]).dual(b.grad_dtype(built.ins[i]));
    check(b.type(grads[i]) == want, "the gradient of input {} is {}: not the dual {}", i, to_string(b.type(grads[i])),
          to_string(want));
    built.grads.emplace_back(int(i), grads[i]);
  }
}

}  // namespace

std::optional<BuiltCase> build_case(const OpCase& c, const Mesh& mesh, const std::vector<Layout>& layouts) {
  BuiltCase out;
  out.g.mesh = mesh;
  Builder b(out.g);
  b.set_phase(c.phase);
  try {
    for (size_t i = 0; i < c.ins.size(); ++i) {
      const CaseInput& in = c.ins[i];
      out.ins.push_back(
          b.leaf({fmt::format("in{}", i), {in.dtype, in.data.shape, layouts[i]}, Role::input, in.wants_grad}));
    }
    out.outs = b.add(c.op, out.ins);
    verify(out.g);
  } catch (const Error&) {
    return std::nullopt;
  }
  if (c.has_grad) add_gradients(b, c, out);
  for (size_t k = 0; k < out.outs.size(); ++k) out.g.outputs[fmt::format("out{}", k)] = out.outs[k];
  for (auto& [i, v] : out.grads) out.g.outputs[fmt::format("grad{}", i)] = v;
  if (c.runs) out.g.nodes[0].op = *c.runs;
  return out;
}

std::vector<Tensor> run_case(const OpCase& c, BuiltCase built) {
  RankSet ranks(plan_graph(built.g));
  for (size_t i = 0; i < c.ins.size(); ++i) ranks.write(fmt::format("in{}", i), c.ins[i].data);
  if (built.dy) ranks.write(kCotangent, cotangent(built.g.type(built.dy).shape));
  ranks.run("graph", false);
  std::vector<Tensor> out;
  for (size_t k = 0; k < built.outs.size(); ++k) out.push_back(ranks.output("graph", fmt::format("out{}", k)));
  for (auto& [i, v] : built.grads)  // add's gradient is the cotangent itself
    out.push_back(v == built.dy ? ranks.read(kCotangent) : ranks.output("graph", fmt::format("grad{}", i)));
  return out;
}

LayoutReport& LayoutReport::operator+=(const LayoutReport& o) {
  right_on_one += o.right_on_one, refused_on_one += o.refused_on_one;
  right_on_two += o.right_on_two, refused_on_two += o.refused_on_two;
  wrong.insert(wrong.end(), o.wrong.begin(), o.wrong.end());
  return *this;
}

namespace {

using Assignment = std::vector<State>;  // by input, on one axis

std::vector<State> states_of(const CaseInput& in) {
  std::vector<State> out = {kSame, kCopy};
  if (is_float(in.dtype)) out.push_back(kPartial);
  for (size_t d = 0; d < in.data.shape.size(); ++d) out.push_back(split(int(d)));
  return out;
}

std::vector<Assignment> all_assignments(const OpCase& c) {
  std::vector<Assignment> out = {{}};
  for (const CaseInput& in : c.ins) {
    std::vector<Assignment> longer;
    for (const Assignment& a : out)
      for (State s : states_of(in)) {
        if (in.like >= 0 && s != a[in.like]) continue;
        longer.push_back(a), longer.back().push_back(s);
      }
    out = std::move(longer);
  }
  return out;
}

std::vector<Layout> layouts_of(const OpCase& c, const std::vector<std::pair<AxisSet, Assignment>>& axes, Order order) {
  std::vector<Layout> out;
  for (size_t i = 0; i < c.ins.size(); ++i) {
    Layout l = whole(c.ins[i].data.shape.size());
    for (const auto& [axis, assignment] : axes) {
      const State s = assignment[i];
      if (s.is_split()) l.dims[s.dim].add({axis, order});
      if (s == kPartial) l.partial.insert(axis);
      if (s == kCopy) l.copy.insert(axis);
    }
    out.push_back(std::move(l));
  }
  return out;
}

class LayoutCheck {
 public:
  explicit LayoutCheck(const OpCase& c) : c_(c) {
    std::vector<Layout> same;
    for (const CaseInput& in : c.ins) same.push_back(whole(in.data.shape.size()));
    auto built = build_case(c, make_mesh({}), same);
    check(built.has_value(), "[{}] is refused with everything whole", c.op.print());
    want_ = run_case(c, std::move(*built));
  }

  LayoutReport run(bool on_two_axes) {
    std::vector<Assignment> accepted;
    const Mesh two = make_mesh({1, 1, 2, 1}), four = make_mesh({1, 2, 2, 1});
    for (const Assignment& a : all_assignments(c_)) {
      if (!try_one(two, {{kSecond, a}}, Order::block, report_.right_on_one, report_.refused_on_one)) continue;
      if (!has_copied_constant(a)) accepted.push_back(a);
      const bool splits = std::any_of(a.begin(), a.end(), [](State s) { return s.is_split(); });
      if (splits && !splits_table(a))
        try_one(two, {{kSecond, a}}, Order::zigzag, report_.right_on_one, report_.refused_on_one);
    }
    if (!on_two_axes) return report_;
    for (const Assignment& a : accepted)
      for (const Assignment& b : accepted)
        try_one(four, {{kFirst, a}, {kSecond, b}}, Order::block, report_.right_on_two, report_.refused_on_two);
    return report_;
  }

 private:
  bool try_one(const Mesh& mesh, const std::vector<std::pair<AxisSet, Assignment>>& axes, Order order, int& right,
               int& refused) {
    const std::vector<Layout> layouts = layouts_of(c_, axes, order);
    auto complain = [&](const std::string& what) {
      std::string list;
      for (const Layout& l : layouts) list += (list.empty() ? "" : ", ") + to_string(l);
      report_.wrong.push_back(fmt::format("{} of ({}): {}", c_.op.print(), list, what));
    };
    try {
      auto built = build_case(c_, mesh, layouts);
      if (!built) return ++refused, false;
      const std::vector<Tensor> got = run_case(c_, std::move(*built));
      for (size_t k = 0; k < got.size(); ++k)
        if (const double d = max_difference(got[k], want_[k]); !(d < kTolerance))
          return complain(fmt::format("result or gradient {} is off by {}", k, d)), true;
      return ++right, true;
    } catch (const Error& e) {
      return complain(e.what()), true;
    }
  }

  // A constant that is Copy is the same bytes as one that is Same: tried on one axis only.
  bool has_copied_constant(const Assignment& a) const {
    for (size_t i = 0; i < a.size(); ++i)
      if (!c_.ins[i].wants_grad && a[i] == kCopy) return true;
    return false;
  }
  // The rows that a rank has of an embedding table are one run: the kernel refuses zigzag.
  bool splits_table(const Assignment& a) const {
    if (c_.op.get_if<Embedding>()) return a[1] == split(0);
    return c_.op.get_if<EmbeddingGrad>() && a[2] == split(0);
  }

  const OpCase& c_;
  std::vector<Tensor> want_;
  LayoutReport report_;
};

}  // namespace

LayoutReport check_layouts(const OpCase& c, bool on_two_axes) { return LayoutCheck(c).run(on_two_axes); }

}  // namespace megalith::harness
