// Merges nodes of one kind into one: accumulations of small gradients, squares of all gradients, and updates of all
// parameters. Parameters whose gradients have marked rows are excluded. For backends with a high launch cost per op.
// (On a CPU a gradient that is squared directly after its product is still in cache.)
#include <algorithm>

#include "graph/relayout_op.h"
#include "ops/multi_update.h"
#include "passes/pass.h"
#include "passes/stream_state.h"

namespace megalith {

namespace {

bool adds_numbers(const Node& n) {
  const auto* add = n.op.get_if<AddGrad>();
  return add && add->ndim == 0;
}

// Accumulations of up to this many elements take less time than their launch. Their gradients are kept until the last
// of them is computed.
constexpr i64 kSmall = 1 << 16;

// The node that reads the value first; the number of nodes if none does.
std::vector<int> first_readers(const Graph& g) {
  std::vector<int> out(g.values.size(), int(g.nodes.size()));
  for (int i = int(g.nodes.size()) - 1; i >= 0; --i)
    for (Value v : g.nodes[i].ins) out[size_t(v.id)] = i;
  return out;
}

bool is_update(const AnyOp& op) { return op.get_if<SumSquares>() || op.get_if<CountNonzeros>() || op.get_if<Update>(); }

// Merges small accumulations into leaves at the place of the last one. Only accumulations that only the update reads
// are merged. A gradient that is then copied into a bucket or reduced over ranks is excluded: its transfer can start
// early.
bool join_accumulations(Graph& g) {
  const std::vector<int> readers = first_readers(g);
  std::map<std::string, std::vector<int>> groups;
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    const Node& n = g.nodes[i];
    const auto* op = n.op.get_if<Accumulate>();
    if (!op || g.info(n.ins[0]).node >= 0) continue;
    const Type& type = g.type(n.outs[0]);
    const int reader = readers[size_t(n.outs[0].id)];
    const bool can_wait = reader == int(g.nodes.size()) || is_update(g.nodes[reader].op);
    if (type.dtype != DType::f32 || type.elements() > kSmall || !can_wait) continue;
    groups[fmt::format("{} {}", int(n.phase), op->starts)].push_back(i);
  }
  std::vector<bool> drop(g.nodes.size());
  bool changed = false;
  for (auto& [key, nodes] : groups) {
    const int last = nodes.back();
    std::erase_if(nodes, [&](int i) { return readers[size_t(g.nodes[i].outs[0].id)] < last; });
    if (nodes.size() < 2) continue;
    Node joined = g.nodes[nodes.back()];
    joined.op = MultiAccumulate{int(nodes.size()), joined.op.get_if<Accumulate>()->starts};
    joined.ins.clear(), joined.outs.clear();
    for (int i : nodes) {
      const Node& n = g.nodes[i];
      joined.ins.insert(joined.ins.end(), n.ins.begin(), n.ins.end());
      joined.outs.push_back(n.outs[0]);
      drop[i] = true;
    }
    g.nodes[nodes.back()] = std::move(joined);
    drop[nodes.back()] = false, changed = true;
  }
  drop_nodes(g, drop);
  return changed;
}

// One term of a sum: the squares of a gradient, perhaps moved between ranks; or anything else.
struct Term {
  Value value;
  int squares = -1, relayout = -1;  // nodes
};

// One sum of squares. Collects the changes: nodes to drop, and the node that replaces the last sum.
class SumOfSquares {
 public:
  SumOfSquares(Graph& g, const std::vector<int>& uses, int last) : g_(g), uses_(uses) {
    result_ = g.nodes[last].outs[0];
    flatten(last);
  }

  // The nodes that replace the sum; none if no two of its terms go together.
  std::vector<Node> rewrite() {
    std::map<std::string, std::vector<Term>> groups;
    for (const Term& t : terms_)
      if (t.squares >= 0) groups[key(t)].push_back(t);
    std::vector<Node> out;
    std::vector<Value> terms;
    for (const Term& t : terms_) {
      const auto it = t.squares < 0 ? groups.end() : groups.find(key(t));
      if (it == groups.end() || it->second.size() < 2) {
        terms.push_back(t.value);
      } else if (it->second[0].value == t.value) {
        join(it->second, out);
        terms.push_back(t.value);
      }
    }
    if (out.empty()) return out;
    for (size_t i = 1; i < terms.size(); ++i) {  // the old sums' values serve again
      Node sum = g_.nodes[sums_[i - 1]];
      sum.ins = {i == 1 ? terms[0] : out.back().outs[0], terms[i]};
      out.push_back(std::move(sum));
    }
    dropped_.insert(dropped_.end(), sums_.begin(), sums_.end());
    replaced_[result_] = out.back().outs[0];
    return out;
  }
  const std::vector<int>& dropped() const { return dropped_; }
  const std::map<Value, Value>& replaced() const { return replaced_; }

 private:
  bool alone(Value v) const { return g_.info(v).node >= 0 && uses_[size_t(v.id)] == 1; }

  void flatten(int sum) {
    for (Value v : g_.nodes[sum].ins)
      if (alone(v) && adds_numbers(g_.nodes[g_.info(v).node]))
        flatten(g_.info(v).node);
      else
        terms_.push_back(read(v));
    sums_.push_back(sum);
  }

  Term read(Value v) const {
    Term t{v};
    Value squares = v;
    if (alone(v) && g_.nodes[g_.info(v).node].op.get_if<Relayout>())
      t.relayout = g_.info(v).node, squares = g_.nodes[t.relayout].ins[0];
    if (!alone(squares)) return t;
    const auto* op = g_.nodes[g_.info(squares).node].op.get_if<SumSquares>();
    if (op && !op->marks && !op->rest) t.squares = g_.info(squares).node;
    return t;
  }

  // Terms of one key can be added before they are moved.
  std::string key(const Term& t) const {
    const std::string move = t.relayout < 0 ? "" : g_.nodes[t.relayout].op.print(g_.mesh.used());
    return move + to_string(g_.type(g_.nodes[t.squares].outs[0]), g_.mesh.used());
  }

  void join(const std::vector<Term>& group, std::vector<Node>& out) {
    Node all = g_.nodes[group[0].squares];
    all.op = MultiSumSquares{};
    all.ins.clear();
    for (const Term& t : group) {
      all.ins.push_back(g_.nodes[t.squares].ins[0]);
      dropped_.push_back(t.squares);
      if (t.relayout >= 0) dropped_.push_back(t.relayout);
    }
    out.push_back(std::move(all));
    if (group[0].relayout >= 0) out.push_back(g_.nodes[group[0].relayout]);
  }

  Graph& g_;
  const std::vector<int>& uses_;
  Value result_;
  std::vector<Term> terms_;  // from left to right
  std::vector<int> sums_;    // the nodes that add them
  std::vector<int> dropped_;
  std::map<Value, Value> replaced_;
};

bool join_squares(Graph& g) {
  const std::vector<int> uses = count_uses(g);
  std::vector<bool> inner(g.nodes.size()), drop(g.nodes.size());  // inner: sums that a sum reads
  for (const Node& n : g.nodes)
    for (Value v : n.ins)
      if (adds_numbers(n) && g.info(v).node >= 0 && uses[size_t(v.id)] == 1) inner[size_t(g.info(v).node)] = true;
  std::map<int, std::vector<Node>> instead;
  std::map<Value, Value> replaced;
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    if (!adds_numbers(g.nodes[i]) || inner[i]) continue;
    SumOfSquares sum(g, uses, i);
    std::vector<Node> nodes = sum.rewrite();
    if (nodes.empty()) continue;
    for (int d : sum.dropped()) drop[d] = true;
    replaced.insert(sum.replaced().begin(), sum.replaced().end());
    instead[i] = std::move(nodes);
  }
  std::vector<Node> nodes;
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    for (Node& n : instead[i]) nodes.push_back(std::move(n));
    if (!drop[i]) nodes.push_back(std::move(g.nodes[i]));
  }
  set_nodes(g, std::move(nodes));
  replace_uses(g, replaced);
  return !replaced.empty();
}

// Merges all updates that differ only in parameter and decay, at the place of the last one.
bool join_updates(Graph& g) {
  std::map<std::string, std::vector<int>> groups;
  const std::vector<int> uses = count_uses(g);
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    const Node& n = g.nodes[i];
    const auto* op = n.op.get_if<Update>();
    if (!op || op->marks || is_on_host(g, n)) continue;  // stream-state groups those on the host
    if (op->states() == 0) continue;                     // its input has no other reader: it is not kept
    bool read = false;                                   // by the all-gather of weights, during the next updates
    for (Value v : n.outs) read |= uses[size_t(v.id)] > 0;
    if (read) continue;
    Update alike = *op;
    alike.ndim = 0, alike.decay = true;
    groups[fmt::format("{} {} {}", AnyOp(alike).print(), n.ins[size_t(op->scalars_at())].id,
                       n.ins[size_t(op->step_scalars_in_at())].id)]
        .push_back(i);
  }
  std::vector<bool> drop(g.nodes.size());
  bool changed = false;
  for (const auto& [key, nodes] : groups) {
    if (nodes.size() < 2) continue;
    const Update first = *g.nodes[nodes[0]].op.get_if<Update>();
    MultiUpdate all{first.rule, first.copy};
    Node joined = g.nodes[nodes.back()];
    joined.ins.clear(), joined.outs.clear();
    for (int i : nodes) {
      const Node& n = g.nodes[i];
      all.decay.push_back(n.op.get_if<Update>()->decay);
      joined.ins.insert(joined.ins.end(), n.ins.begin(), n.ins.begin() + first.scalars_at());
      if (first.copy) joined.ins.push_back(n.ins[size_t(first.copy_at())]);
      joined.outs.insert(joined.outs.end(), n.outs.begin(), n.outs.end());
      drop[i] = true;
    }
    for (int at : {first.scalars_at(), first.step_scalars_in_at()})
      joined.ins.push_back(g.nodes[nodes[0]].ins[size_t(at)]);
    joined.op = std::move(all);
    g.nodes[nodes.back()] = std::move(joined);
    drop[nodes.back()] = false, changed = true;
  }
  drop_nodes(g, drop);
  return changed;
}

}  // namespace

bool multi_tensor(Graph& g) {
  const bool gradients = join_accumulations(g), squares = join_squares(g), updates = join_updates(g);
  return gradients || squares || updates;
}

}  // namespace megalith
