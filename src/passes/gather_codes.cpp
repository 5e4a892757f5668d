#include "passes/gather_codes.h"

#include <algorithm>
#include <set>

#include "graph/relayout_op.h"
#include "ops/shard_codes.h"
#include "optim/update.h"
#include "passes/pass.h"

namespace megalith {

namespace {

// The numbers that a weight's readers need in addition to its codes, in leaves that live from micro-batch to
// micro-batch.
struct CodedWeight {
  size_t bucket = 0;
  ShardMember member;  // at: its number among all
  Value weight;
  Quantize cast;
  Value state, scale_inv, amax;           // leaves; no amax: nobody reads it
  std::vector<Value> scale_invs, amaxes;  // that the casts gave, and read
};

class Gathering {
 public:
  Gathering(Graph& g, const std::vector<Bucket>& buckets, const std::vector<Parameter>& parameters)
      : g_(g), b_(g), buckets_(buckets), parameters_(parameters), drop_(g.nodes.size()) {}

  bool run() {
    find_weights();
    if (weights_.empty()) return false;
    find_casts();
    const size_t body = g_.nodes.size();
    b_.set_phase(Phase::forward), b_.set_module("weights");
    const Value amax = reduced_amax();
    for (size_t i = 0; i < buckets_.size(); ++i) cast_and_gather(i, amax);
    for (size_t i = body; i < g_.nodes.size(); ++i) g_.nodes[i].first_only = true;
    replace_uses(g_, by_);
    std::vector<Node> nodes(g_.nodes.begin() + i64(body), g_.nodes.end());
    for (size_t i = 0; i < body; ++i)
      if (!drop_[i]) nodes.push_back(std::move(g_.nodes[i]));
    set_nodes(g_, std::move(nodes));
    return true;
  }

 private:
  void find_weights() {
    for (size_t p = 0; p < buckets_.size(); ++p)
      for (size_t i = 0; buckets_[p].coded && i < buckets_[p].members.size(); ++i) {
        const Parameter& parameter = parameters_[buckets_[p].members[i]];
        const Value leaf = b_.find_leaf(parameter.name);
        if (!leaf) continue;
        const i64 elements = local_type(g_.mesh, parameter.type).elements();
        weights_.push_back({p, {int(weights_.size()), buckets_[p].places[i], elements}, leaf, {}, {}, {}, {}, {}, {}});
        by_leaf_[leaf] = weights_.size() - 1;
      }
  }

  // The casts, and the readings for amax, of each weight.
  void find_casts() {
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      for (const Value in : n.ins) {
        const auto it = by_leaf_.find(in);
        if (it == by_leaf_.end()) continue;
        if (const auto* cast = n.op.get_if<Quantize>())
          take_cast(weights_[it->second], n, *cast);
        else
          check(n.op.get_if<Amax>(), "--fp8-param-gather: values of {} are read by {}, but ranks have only its codes",
                g_.info(in).name, n.op.name());
        drop_[i] = true;
      }
    }
    for (CodedWeight& w : weights_) {
      check(!w.scale_invs.empty(), "--fp8-param-gather: no product reads codes of {}", g_.info(w.weight).name);
      drop_readings(w);
    }
  }

  void take_cast(CodedWeight& w, const Node& n, const Quantize& cast) {
    check(cast.orders == CodeOrders::as_is && (cast.scaling == Scaling::kept || cast.scaling == Scaling::quotient),
          "--fp8-param-gather: {} has scales by {}", g_.info(w.weight).name, name_of(cast.scaling));
    w.cast = cast;
    if (cast.scaling == Scaling::kept) w.state = n.ins.back();
    by_[n.outs[0]] = w.weight;
    w.scale_invs.push_back(n.outs[1]), w.amaxes.push_back(cast.gives_amax ? n.outs[2] : n.ins[1]);
  }

  // Drops the nodes that brought a weight's amax to all ranks. What read a rank's own reads that of all ranks.
  void drop_readings(CodedWeight& w) {
    for (size_t i = 0; i < w.amaxes.size(); ++i) {
      const int made_by = g_.info(w.amaxes[i]).node;
      if (made_by < 0) continue;
      const Node& n = g_.nodes[size_t(made_by)];
      if (!n.op.get_if<Relayout>() && !n.op.get_if<SharedAmax>()) continue;
      drop_[size_t(made_by)] = true, w.amaxes.push_back(n.ins[0]);
    }
  }

  std::vector<size_t> members_of(size_t bucket) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < weights_.size(); ++i)
      if (weights_[i].bucket == bucket) out.push_back(i);
    return out;
  }

  // Of all members, known to all ranks.
  Value reduced_amax() {
    ShardAmax op;
    std::vector<Value> parts;
    std::map<size_t, int> at;
    for (const CodedWeight& w : weights_) {
      if (at.emplace(w.bucket, int(parts.size())).second) parts.push_back(weights_shard_leaf(b_, buckets_[w.bucket]));
      op.members.push_back({at.at(w.bucket), w.member.place, w.member.elements});
    }
    const Value local = b_.add1(op, parts);
    const Type& type = b_.type(local);
    const AxisSet axes = type.layout.max;
    if (axes.empty()) return local;
    const RelayoutPlan plan = relayout_plan(g_.mesh, type.shape, type.layout, axes, kSame);
    Relayout move{.axes = axes, .from = plan.from, .to = kSame};
    move.from_order = plan.from_order, move.transfer = plan.transfer;
    return b_.add1(move, {local});
  }

  Value number_leaf(const CodedWeight& w, const char* what, Value like) {
    return b_.leaf({fmt::format("{}.{}", g_.info(w.weight).name, what), b_.type(like), Role::scalar});
  }

  void cast_and_gather(size_t bucket, Value amax) {
    const std::vector<size_t> members = members_of(bucket);
    if (members.empty()) return;
    CastShard op;
    std::vector<Value> ins = {weights_shard_leaf(b_, buckets_[bucket]), amax}, scales, amaxes;
    for (const size_t m : members) {
      CodedWeight& w = weights_[m];
      op.format = w.cast.format, op.kept = w.cast.scaling == Scaling::kept, op.state_at = w.cast.at;
      op.members.push_back(w.member);
      if (op.kept) ins.push_back(w.state), amaxes.push_back(number_leaf(w, "amax", w.amaxes[0]));
      scales.push_back(number_leaf(w, "scale_inv", w.scale_invs[0]));
      ValueInfo& codes = g_.values[size_t(w.weight.id)];
      codes.type.dtype = dtype_of_codes(w.cast.format);
    }
    ins.insert(ins.end(), scales.begin(), scales.end()), ins.insert(ins.end(), amaxes.begin(), amaxes.end());
    const std::vector<Value> outs = b_.add(op, ins);
    for (size_t i = 0; i < members.size(); ++i) {
      const CodedWeight& w = weights_[members[i]];
      for (const Value v : w.scale_invs) by_[v] = outs[1 + i];
      if (op.kept)
        for (const Value v : w.amaxes) by_[v] = outs[1 + members.size() + i];
    }
    place_members(b_, {buckets_[bucket]}, parameters_);
    b_.wait(b_.move_into(outs[0], buckets_[bucket].reduced, kCopy, weights_leaf(b_, buckets_[bucket]), kWeightLane));
  }

  Graph& g_;
  Builder b_;
  const std::vector<Bucket>& buckets_;
  const std::vector<Parameter>& parameters_;
  std::vector<bool> drop_;
  std::vector<CodedWeight> weights_;
  std::map<Value, size_t> by_leaf_;
  std::map<Value, Value> by_;
};

}  // namespace

bool gather_codes(Graph& g, const std::vector<Bucket>& buckets, const std::vector<Parameter>& parameters) {
  return Gathering(g, buckets, parameters).run();
}

}  // namespace megalith
