#include "graph/graph.h"

#include <set>

#include "graph/relayout_op.h"

namespace megalith {

std::string_view name_of(Phase p) {
  constexpr std::string_view names[] = {"forward", "backward", "update", "weights"};
  return names[int(p)];
}

std::string_view name_of(Role r) {
  constexpr std::string_view names[] = {"activation", "input", "parameter", "main parameter",   "gradient",
                                        "optimizer",  "cache", "scalar",    "kept activations", "computed once a step"};
  return names[int(r)];
}

Value Graph::find_leaf(const std::string& name) const {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].node < 0 && values[i].name == name) return {int(i)};
  return {};
}

InferArgs infer_args(const Graph& g, const std::vector<Value>& ins, Phase phase) {
  InferArgs a{g.mesh, {}, {}};
  a.ins.reserve(ins.size()), a.wants_grad.reserve(ins.size());
  for (Value v : ins) {
    a.ins.push_back(g.type(v));
    a.wants_grad.push_back(phase != Phase::update && g.info(v).wants_grad);
  }
  return a;
}

static std::string label(const Graph& g, Value v) {
  if (v.id < 0 || v.id >= int(g.values.size())) return fmt::format("%{} (no such value)", v.id);
  const ValueInfo& i = g.info(v);
  return i.name.empty() ? fmt::format("%{}", v.id) : fmt::format("%{}:{}", v.id, i.name);
}

std::string print(const Graph& g, const Node& n) {
  const AxisSet used = g.mesh.used();
  std::string outs, ins;
  for (Value v : n.outs)
    outs += fmt::format("{}{} {}", outs.empty() ? "" : ", ", label(g, v), to_string(g.type(v), used));
  for (Value v : n.ins) ins += fmt::format("{}{}", ins.empty() ? "" : ", ", label(g, v));
  return fmt::format("{} = {}({})   # {}{} {}", outs, n.op.print(used), ins, name_of(n.phase),
                     n.first_only ? ", first micro-batch" : "", to_string(n.origin));
}

std::string print(const Graph& g) {
  std::string out;
  for (size_t i = 0; i < g.values.size(); ++i)
    if (g.values[i].node < 0)
      out += fmt::format("{} {}   # {}\n", label(g, {int(i)}), to_string(g.values[i].type, g.mesh.used()),
                         name_of(g.values[i].role));
  for (const Node& n : g.nodes) out += print(g, n) + "\n";
  for (const auto& [name, v] : g.outputs) out += fmt::format("output {} = {}\n", name, label(g, v));
  return out;
}

// The state after the previous nodes.
struct Past {
  explicit Past(size_t values) : defined(values), stale(values) {}
  std::vector<bool> defined;        // by value
  std::vector<bool> stale;          // whose memory holds a later value
  std::set<Value> moved_into = {};  // leaves that a relayout on a lane writes to, not yet waited for
};

static void verify_node(const Graph& g, const Node& n, Past& past, int index) {
  std::vector<bool>&defined = past.defined, &stale = past.stale;
  std::set<Value>& moved_into = past.moved_into;
  for (Value v : n.ins) {
    check(v.id >= 0 && v.id < int(g.values.size()), "reads a value that does not exist");
    if (stale[size_t(v.id)]) fail("reads {} after it was updated in place", label(g, v));
    if (g.info(v).node >= 0 && !defined[size_t(v.id)]) fail("reads {} before it is computed", label(g, v));
    if (!moved_into.empty() && moved_into.count(g.info(v).bucket.bucket))
      fail("reads {} while its bucket is being written", label(g, v));
    const int by = g.info(v).node;
    if (n.first_only && by >= 0 && !g.nodes[size_t(by)].first_only)
      fail("runs in a step's first micro-batch only, but reads {}, which each one computes", label(g, v));
  }
  const std::vector<Type> types = n.op.infer(infer_args(g, n.ins, n.phase));
  check(types.size() == n.outs.size(), "has {} results, its op gives {}", n.outs.size(), types.size());
  for (size_t k = 0; k < types.size(); ++k) {
    if (types[k] != g.type(n.outs[k]))
      fail("result {} is {}, its op gives {}", k, to_string(g.type(n.outs[k]), g.mesh.used()),
           to_string(types[k], g.mesh.used()));
    check(g.info(n.outs[k]).node == index, "result {} names node {} as its own", k, g.info(n.outs[k]).node);
    if (defined[size_t(n.outs[k].id)]) fail("computes {} a second time", label(g, n.outs[k]));
    defined[size_t(n.outs[k].id)] = true;
  }
  for (const Alias& al : n.op.aliases()) {
    if (!al.must) continue;
    const auto* r = n.op.get_if<Relayout>();
    const bool sums = (r && r->in_place) || n.op.get_if<PutBack>();  // over ranks, where the terms were
    const Type &out = g.type(n.outs.at(al.out)), &in = g.type(n.ins.at(al.in));
    check(out == in || (sums && local_type(g.mesh, out).bytes() == local_type(g.mesh, in).bytes()),
          "updates input {} in place with another type", al.in);
    stale[size_t(n.ins[al.in].id)] = true;
  }
  if (const auto* r = n.op.get_if<Relayout>(); r && r->into && r->lane) moved_into.insert(n.ins[1]);
  if (n.op.get_if<Wait>() && g.info(n.ins[0]).node >= 0) {
    const Node& begun = g.nodes[g.info(n.ins[0]).node];
    if (const auto* r = begun.op.get_if<Relayout>(); r && r->into) moved_into.erase(begun.ins[1]);
  }
}

void verify(const Graph& g) {
  Past past(g.values.size());
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    try {
      verify_node(g, g.nodes[i], past, int(i));
    } catch (const Error& e) {
      fail("verify: node {} ({}): {}", i, print(g, g.nodes[i]), e.what());
    }
  }
  for (const auto& [name, v] : g.outputs)
    check(g.info(v).node < 0 || past.defined[size_t(v.id)], "verify: output {} is not computed", name);
}

}  // namespace megalith
