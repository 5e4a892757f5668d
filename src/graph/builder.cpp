#include "graph/builder.h"

#include "graph/relayout_op.h"

namespace megalith {

void no_grad(std::string_view op) { fail("[{}] has no gradient: no value that needs a gradient may depend on it", op); }

// In a map, because optimizer state has thousands of leaves, and each is looked up first.
Value Builder::find_leaf(const std::string& name) {
  for (; indexed_ < g_.values.size(); ++indexed_)
    if (g_.values[indexed_].node < 0) leaves_.emplace(g_.values[indexed_].name, Value{int(indexed_)});
  const auto it = leaves_.find(name);
  return it == leaves_.end() ? Value{} : it->second;
}

Value Builder::leaf(const LeafSpec& spec) {
  if (Value old = find_leaf(spec.name)) {
    if (g_.type(old) != spec.type || g_.info(old).role != spec.role || g_.info(old).host != spec.host)
      fail("leaf {} is {} and {}", spec.name, to_string(g_.type(old)), to_string(spec.type));
    return old;
  }
  try {
    local_shape(g_.mesh, spec.type.shape, spec.type.layout);
  } catch (const Error& e) {
    fail("{}: {}", spec.name, e.what());
  }
  const bool accumulated = spec.role == Role::parameter;
  g_.values.push_back({spec.type,
                       spec.name,
                       -1,
                       spec.wants_grad,
                       accumulated ? gradients_.value_or(accum_of(spec.type.dtype)) : spec.type.dtype,
                       spec.role,
                       spec.parts,
                       {},
                       spec.host});
  return {int(g_.values.size()) - 1};
}

std::vector<Value> Builder::add(AnyOp op, const std::vector<Value>& ins) {
  const InferArgs a = infer_args(g_, ins, phase_);
  bool any_grad = false;
  for (size_t i = 0; i < ins.size(); ++i) any_grad |= a.wants_grad[i] && op.passes_grad(int(i));
  std::vector<Type> types;
  try {
    types = op.infer(a);
    for (const Type& t : types) local_shape(g_.mesh, t.shape, t.layout);
  } catch (const Error& e) {
    fail("[{}] {} {}: {}", op.name(), name_of(phase_), to_string(origin_), e.what());
  }
  std::vector<Value> outs;
  for (Type& t : types) {
    const bool differentiable = any_grad && is_float(t.dtype);
    const DType dtype = t.dtype;
    g_.values.push_back({std::move(t), "", int(g_.nodes.size()), differentiable, dtype, Role::activation});
    outs.push_back({int(g_.values.size()) - 1});
  }
  g_.nodes.push_back({std::move(op), ins, outs, phase_, origin_, repeats && phase_ == Phase::forward});
  return outs;
}

RelayoutPlan Builder::plan_of(Value v, AxisSet axes, State to, Order order, int rotated) const {
  try {
    return relayout_plan(g_.mesh, type(v).shape, type(v).layout, axes, to, order, rotated);
  } catch (const Error& e) {
    fail("[relayout] {} {}: {}", name_of(phase_), to_string(origin_), e.what());
  }
}

static Relayout op_of(const RelayoutPlan& p, AxisSet axes, State to, Order order, int rotated = 0) {
  Relayout op{axes, p.from, to, p.from_order, order, p.transfer};
  op.from_rotated = p.from_rotated, op.rotated = rotated;
  return op;
}

Value Builder::relayout(Value v, AxisSet axes, State to, Order order, int rotated) {
  const RelayoutPlan p = plan_of(v, axes, to, order, rotated);
  if (p.to == type(v).layout) return v;
  const auto key = std::tuple(v.id, axes, int(to.kind), to.dim, int(order), rotated, int(phase_));
  if (auto it = relayouts_.find(key); it != relayouts_.end()) return it->second;
  const Value out = add1(op_of(p, axes, to, order, rotated), {v});
  g_.values[out.id].grad_dtype = grad_dtype(v);  // a parameter's gradient keeps its precision on its way back
  relayouts_.emplace(key, out);
  return out;
}

Value Builder::move_into(Value v, AxisSet axes, State to, Value leaf, int lane, bool first_only) {
  const RelayoutPlan p = plan_of(v, axes, to, Order::block);
  Relayout op = op_of(p, axes, to, Order::block);
  op.lane = lane, op.into = true;
  const Value out = add1(op, {v, leaf});
  g_.nodes.back().first_only = first_only;
  return out;
}

Value Builder::begin_relayout(Value v, AxisSet axes, State to, int lane, Order order, int rotated) {
  Relayout op = op_of(plan_of(v, axes, to, order, rotated), axes, to, order, rotated);
  op.lane = lane;
  return add1(op, {v});
}

Value Builder::wait(Value moved) {
  const Node& begun = g_.nodes[g_.info(moved).node];
  const auto* r = begun.op.get_if<Relayout>();
  if (!r || r->lane == 0) return moved;
  std::vector<Value> ins = {moved};
  if (!r->in_place) ins.push_back(begun.ins[0]);
  const bool first_only = begun.first_only;
  const Value out = add1(Wait{}, ins);
  g_.nodes.back().first_only = first_only;
  return out;
}

Value Builder::reduce_in_place(Value leaf, AxisSet axes, int lane) {
  const RelayoutPlan p = plan_of(leaf, axes, kSame, Order::block);
  Relayout op = op_of(p, axes, kSame, Order::block);
  op.lane = lane, op.in_place = true;
  return add1(op, {leaf});
}

Value Builder::saved(Value v) {
  const int node = g_.info(v).node;
  if (!regather || node < 0) return v;
  if (g_.nodes[node].op.repeats() || g_.nodes[node].repeats) {
    if (const auto it = repeated_.find(v); it != repeated_.end()) return it->second;
    const Node n = g_.nodes[node];  // a copy: nodes are appended
    std::vector<Value> ins = n.ins;
    for (Value& in : ins) in = saved(in);
    const std::vector<Value> outs = add(n.op, ins);
    for (size_t i = 0; i < outs.size(); ++i) repeated_[n.outs[i]] = outs[i];
    return repeated_.at(v);
  }
  const auto* r = g_.nodes[node].op.get_if<Relayout>();
  if (!r || r->transfer != Transfer::all_gather) return v;
  const Relayout op = *r;
  return relayout(saved(g_.nodes[node].ins[0]), op.axes, op.to, op.order);
}

}  // namespace megalith
