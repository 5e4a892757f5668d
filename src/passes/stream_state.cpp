#include "passes/stream_state.h"

#include <algorithm>
#include <deque>

#include "ops/state_window.h"

namespace megalith {

namespace {

class Stream {
 public:
  Stream(Graph& g, const StreamSpec& spec) : g_(g), overlap_(spec.overlap) {
    for (int i = 0; i < int(g.nodes.size()); ++i)
      if (is_on_host(g, g.nodes[i])) add_target(g.nodes[i]);
    if (!targets_.empty()) cut(spec.window);
  }

  bool run() {
    if (targets_.empty()) return false;
    std::vector<Node> nodes = std::move(g_.nodes);
    const size_t start = before_the_norm(nodes);
    size_t target = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (i == start && overlap_)
        for (size_t w = 0; w < std::min(kAhead, windows_.size()); ++w) fetch(w);
      const bool is_target = target < targets_.size() && makes(nodes[i], targets_[target].node.outs[0]);
      if (!is_target) {
        out_.push_back(std::move(nodes[i]));
        continue;
      }
      for (; next_ <= targets_[target].last_window; ++next_) update(next_);
      ++target;
    }
    while (!stored_.empty()) wait_for_store();
    set_nodes(g_, std::move(out_));
    replace_uses(g_, results_);
    return true;
  }

 private:
  static constexpr size_t kAhead = 2, kBehind = 1;  // windows

  struct Target {
    Node node;
    i64 elements;   // of a rank
    Value weights;  // their current value
    size_t last_window = 0;
  };
  struct Part {  // of a window
    size_t target;
    Stretch stretch;
  };

  static bool makes(const Node& n, Value v) { return !n.outs.empty() && n.outs[0] == v; }

  void add_target(const Node& n) {
    const Update& op = *n.op.get_if<Update>();
    check(!op.marks, "a gradient's marks are not read by updates of windows: {}", print(g_, n));
    check(!op.copy || g_.info(n.ins[0]).host, "main weights and states lie in different memories: {}", print(g_, n));
    const i64 elements = local_type(g_.mesh, g_.type(n.ins[1])).elements();
    targets_.push_back({n, elements, op.copy ? n.ins[size_t(op.copy_at())] : n.ins[0]});
  }

  // One node updates the parameters of a window, and their state has one type.
  bool alike(const Target& a, const Target& b) const {
    Update x = op_of(a), y = op_of(b);
    x.ndim = y.ndim = 0;
    if (AnyOp(x).print() != AnyOp(y).print() || types_of(a) != types_of(b)) return false;
    const Window one{types_of(a), {{0, 1}}};
    const auto type = [&](const Target& t) { return one.type(g_.mesh, g_.type(leaves_of(t)[0])); };
    const size_t step_scalars_in = size_t(x.step_scalars_in_at());
    return a.node.ins[step_scalars_in] == b.node.ins[step_scalars_in] && type(a) == type(b) &&
           g_.type(a.weights).dtype == g_.type(b.weights).dtype;
  }

  void cut(i64 size) {
    constexpr i64 kWindows = 16, kStep = Window::kAlignment;
    i64 all = 0;
    for (const Target& t : targets_) all += t.elements;
    if (size == 0) size = std::min(StreamSpec::kMostElements, (all + kWindows - 1) / kWindows);
    size = (size + kStep - 1) / kStep * kStep;
    i64 room = 0;
    for (size_t k = 0; k < targets_.size(); ++k) {
      if (k > 0 && !alike(targets_[k - 1], targets_[k])) room = 0;
      for (i64 begin = 0; begin < targets_[k].elements;) {
        if (room <= 0) windows_.emplace_back(), room = size;
        const i64 n = std::min(room, targets_[k].elements - begin);
        windows_.back().push_back({k, {begin, n}});
        begin += n, room -= (n + kStep - 1) / kStep * kStep;
      }
      targets_[k].last_window = windows_.size() - 1;
    }
  }

  // Index of the update's nodes that compute its scalars: here all state is still the previous step's.
  size_t before_the_norm(const std::vector<Node>& nodes) const {
    const auto scalars = std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) {
      return makes(n, input(targets_[0], op_of(targets_[0]).scalars_at()));
    });
    size_t at = size_t(scalars - nodes.begin());
    check(at < nodes.size(), "the update's scalars are not computed");
    while (at > 0 && nodes[at - 1].phase == Phase::update) --at;
    return at;
  }

  std::vector<Value> add(AnyOp op, std::vector<Value> ins) {
    const std::vector<Type> types = op.infer(infer_args(g_, ins, Phase::update));
    std::vector<Value> outs;
    for (const Type& t : types) {
      g_.values.push_back({.type = t, .grad_dtype = t.dtype});
      outs.push_back({int(g_.values.size()) - 1});
    }
    out_.push_back({std::move(op), std::move(ins), outs, Phase::update, {"optimizer"}});
    return outs;
  }

  static const Update& op_of(const Target& t) { return *t.node.op.get_if<Update>(); }
  static Value input(const Target& t, int i) { return t.node.ins[size_t(i)]; }

  // The leaves of a target in host memory: its main weights, if the device has a copy of the weights, and its states.
  std::vector<Value> leaves_of(const Target& t) const {
    std::vector<Value> out;
    if (op_of(t).copy) out.push_back(input(t, 0));
    for (int k = 0; k < op_of(t).states(); ++k) out.push_back(input(t, 2 + k));
    return out;
  }
  std::vector<DType> types_of(const Target& t) const {
    std::vector<DType> out;
    for (Value v : leaves_of(t)) out.push_back(g_.type(v).dtype);
    return out;
  }

  Window shape(size_t w) const {
    Window out{types_of(targets_[windows_[w][0].target]), {}};
    for (const Part& p : windows_[w]) out.stretches.push_back(p.stretch);
    return out;
  }

  std::vector<Value> leaves(size_t w) const {
    std::vector<Value> out;
    for (const Part& p : windows_[w])
      for (Value v : leaves_of(targets_[p.target])) out.push_back(v);
    return out;
  }

  void fetch(size_t w) { fetched_.push_back(add(FetchState{overlap_ ? kFetchLane : 0, shape(w)}, leaves(w))[0]); }

  void update(size_t w) {
    if (!overlap_) fetch(w);
    Value window = fetched_.front();
    fetched_.pop_front();
    if (overlap_) window = add(Wait{}, {window})[0];
    window = updated(w, window);
    std::vector<Value> ins = leaves(w);
    ins.insert(ins.begin(), window);
    const Value stored = add(StoreState{overlap_ ? kStoreLane : 0, shape(w)}, std::move(ins))[0];
    if (!overlap_) return;
    stored_.push_back(stored);
    if (stored_.size() > kBehind) wait_for_store();
    if (w + kAhead < windows_.size()) fetch(w + kAhead);
  }

  Value updated(size_t w, Value window) {
    const Target& first = targets_[windows_[w][0].target];
    const Update like = op_of(first);
    std::vector<Value> ins = {window, input(first, like.scalars_at()), input(first, like.step_scalars_in_at())};
    for (const Part& p : windows_[w])
      ins.push_back(input(targets_[p.target], 1)), ins.push_back(targets_[p.target].weights);
    const std::vector<Value> outs = add(WindowUpdate{like.rule, like.decay, shape(w)}, std::move(ins));
    for (size_t k = 0; k < windows_[w].size(); ++k) {
      Target& t = targets_[windows_[w][k].target];
      t.weights = outs[1 + k];
      results_[t.node.outs[size_t(like.copy ? 1 + like.states() : 0)]] = t.weights;
    }
    return outs[0];
  }

  void wait_for_store() {
    add(Wait{}, {stored_.front()});
    stored_.pop_front();
  }

  Graph& g_;
  bool overlap_;
  std::vector<Target> targets_;
  std::vector<std::vector<Part>> windows_;
  size_t next_ = 0;                 // window to update
  std::deque<Value> fetched_;       // and not yet updated
  std::deque<Value> stored_;        // and not yet waited for
  std::map<Value, Value> results_;  // new weights
  std::vector<Node> out_;
};

}  // namespace

bool is_on_host(const Graph& g, const Node& n) {
  const auto* op = n.op.get_if<Update>();
  return op && (op->states() > 0 ? g.info(n.ins[2]).host : op->copy && g.info(n.ins[0]).host);
}

bool stream_state(Graph& g, const StreamSpec& spec) { return Stream(g, spec).run(); }

Pass stream_state_pass(const OptimizerConfig& config) {
  const StreamSpec spec{.overlap = config.overlap_cpu_optimizer_d2h_h2d};
  return {"stream-state", [spec](Graph& g) { return stream_state(g, spec); }};
}

}  // namespace megalith
