// Appends nodes to a graph. Every node is typed as it is added: a layout mistake is an Error that names op, phase,
// place and axis.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "graph/graph.h"
#include "mesh/relayout.h"

namespace megalith {

struct LeafSpec {
  std::string name;
  Type type;
  Role role = Role::input;
  bool wants_grad = false;
  std::vector<LeafPart> parts = {};
  bool host = false;  // in the host's memory
};

class Builder {
 public:
  explicit Builder(Graph& g) : g_(g) {}

  Graph& graph() { return g_; }
  const Mesh& mesh() const { return g_.mesh; }
  const Type& type(Value v) const { return g_.type(v); }
  bool wants_grad(Value v) const { return g_.info(v).wants_grad; }
  DType grad_dtype(Value v) const { return g_.info(v).grad_dtype; }

  // The dtype of parameters' cotangents. Without a call: f64 for f64, else f32.
  void sum_gradients_in(DType dtype) { gradients_ = dtype; }

  void set_phase(Phase p) { phase_ = p; }
  Phase phase() const { return phase_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }
  const Origin& origin() const { return origin_; }
  void set_module(std::string module) { origin_ = {std::move(module)}; }

  Value find_leaf(const std::string& name);  // {} if there is none
  // An existing leaf of this name is returned if its type and role are the same.
  Value leaf(const LeafSpec& spec);
  std::vector<Value> add(AnyOp op, const std::vector<Value>& ins);
  Value add1(AnyOp op, const std::vector<Value>& ins) { return add(std::move(op), ins)[0]; }

  // Brings `axes` to state `to`. The value itself if it has that state; the same relayout of the same value in the
  // same phase is one node.
  Value relayout(Value v, AxisSet axes, State to, Order order = Order::block, int rotated = 0);

  // The same into a leaf, whose value it becomes; on a lane if that is not 0; if `first_only`, in a step's first
  // micro-batch.
  Value move_into(Value v, AxisSet axes, State to, Value leaf, int lane = 0, bool first_only = false);
  // Starts a relayout on a lane; wait() ends it.
  Value begin_relayout(Value v, AxisSet axes, State to, int lane, Order order = Order::block, int rotated = 0);
  Value wait(Value moved);
  // The sum of a leaf over ranks, in its memory; nobody may read the leaf afterwards.
  Value reduce_in_place(Value leaf, AxisSet axes, int lane = 0);

  // A forward value in a form that the backward may read. The result of an all-gather is gathered again. The result of
  // an op or a node with `repeats` is computed again. Neither is kept.
  Value saved(Value v);

  bool regather = true;  // what saved() does
  bool repeats = false;  // the backward does not keep what the forward adds meanwhile; saved() recomputes it

 private:
  RelayoutPlan plan_of(Value v, AxisSet axes, State to, Order order, int rotated = 0) const;

  Graph& g_;
  std::map<std::string, Value> leaves_;  // of the first `indexed_` values
  size_t indexed_ = 0;
  Phase phase_ = Phase::forward;
  Origin origin_;
  std::optional<DType> gradients_;  // of parameters' cotangents
  std::map<std::tuple<int, AxisSet, int, int, int, int, int>, Value> relayouts_;
  std::map<Value, Value> repeated_;  // what an op made in the forward, made again in the backward
};

// The reverse walk: appends the backward of `loss` and returns each value's cotangent, by value id. A contribution
// always has the dual type of its value; a relayout's gradient is the dual relayout. docs/layouts.md, section 5.
std::map<Value, Value> backward(Builder& b, Value loss);
// The initial cotangent: 1, of the loss's dual type.
Value seed_of(Builder& b, Value loss);
// The same walk from given cotangents.
std::map<Value, Value> backward(Builder& b, std::map<Value, Value> cotangents);

// For ops without a gradient: an Error if the reverse walk needs one.
[[noreturn]] void no_grad(std::string_view op);

}  // namespace megalith
