#include "plan/collect_leaves.h"

#include <algorithm>
#include <tuple>

#include "plan/lanes.h"

namespace megalith {

i64 local_bytes(const Mesh& mesh, const Type& t) {
  return count(local_shape(mesh, t.shape, t.layout)) * size_of(t.dtype);
}

Value memory_of(const Graph& g, Value v) {
  for (bool moved = true; moved && g.info(v).node >= 0;) {
    moved = false;
    const Node& n = g.nodes[g.info(v).node];
    for (const Alias& a : n.op.aliases())
      if ((a.must || a.view) && n.outs[a.out] == v && !moved) v = n.ins[a.in], moved = true;
  }
  return v;
}

// The results of nodes that run in a step's first micro-batch only, and are read in the others.
static void keep_once(const std::string& program, const Graph& g, Kept& kept) {
  for (const Node& n : g.nodes)
    for (Value in : n.ins) {
      const Value v = memory_of(g, in);
      const int by = g.info(v).node;
      if (n.first_only || by < 0 || !g.nodes[size_t(by)].first_only) continue;
      kept.emplace(std::pair(&g, v), KeptLeaf{fmt::format("once {} {}", program, v.id), Role::once});
    }
}

Kept find_kept(const std::vector<ProgramSpec>& programs) {
  Kept kept;
  for (const ProgramSpec& reader : programs) {
    const Graph& g = *reader.graph;
    keep_once(reader.name, g, kept);
    for (const std::string& name : reader.sent) kept[{&g, memory_of(g, g.outputs.at(name))}] = {name};
    std::vector<bool> defined(g.values.size());
    for (const Node& n : g.nodes) {
      if (!runs(reader, n)) continue;
      for (Value in : n.ins) {
        const Value v = memory_of(g, in);
        if (g.info(v).node < 0 || defined[size_t(v.id)]) continue;
        kept.emplace(std::pair(&g, v), KeptLeaf{fmt::format("kept {} {}", reader.name, v.id)});
      }
      for (Value v : n.outs) defined[size_t(v.id)] = true;
    }
  }
  return kept;
}

std::string kept_workspace(const std::string& program, Value result) {
  return fmt::format("workspace {} {}", program, result.id);
}

namespace {

// The parameters of a packed leaf. Error unless each rank has the full leaf: the parameters are consecutive memory.
void add_parts(Plan& plan, const ValueInfo& v) {
  if (v.parts.empty()) return;
  const Leaf& leaf = *plan.find_leaf(v.name);
  if (leaf.bytes != leaf.type.bytes()) fail("packed leaf {} is split: {}", v.name, to_string(v.type));
  i64 at = leaf.offset;
  for (const LeafPart& part : v.parts) {
    Type type{leaf.type.dtype, part.shape, leaf.type.layout};
    type.layout.dims.assign(part.shape.size(), {});
    plan.parts.push_back({part.name, type, leaf.role, type.bytes(), at});
    plan.parts.back().host = leaf.host;
    at += type.bytes();
  }
  check(at == leaf.offset + leaf.bytes, "the parts of packed leaf {} do not fill it", v.name);
}

bool has_slots(Role r) { return r == Role::input || r == Role::kept; }  // one for each micro-batch in flight

}  // namespace

void collect_leaves(Plan& plan, const std::vector<ProgramSpec>& programs, const Kept& kept,
                    const WorkspaceOf& workspace) {
  std::map<std::string, size_t> index;
  for (const ProgramSpec& spec : programs)
    for (const ValueInfo& v : spec.graph->values) {
      if (v.node >= 0) continue;
      const auto [it, is_new] = index.emplace(v.name, plan.leaves.size());
      if (!is_new) {
        Leaf& old = plan.leaves[it->second];
        if (v.bucket.bucket) old.bucket = 0;  // it is set below
        if (has_slots(v.role)) old.slots = std::max(old.slots, spec.slots);
        if (old.type != v.type || old.role != v.role || old.host != v.host)
          fail("leaf {} is {} in one program and {} in another", v.name, to_string(old.type), to_string(v.type));
        continue;
      }
      plan.leaves.push_back({v.name, v.type, v.role, local_bytes(spec.graph->mesh, v.type)});
      plan.leaves.back().host = v.host;
      if (v.bucket.bucket) plan.leaves.back().bucket = 0;
      if (has_slots(v.role)) plan.leaves.back().slots = spec.slots;
    }
  // Ordered by name, because the order of pointers differs from rank to rank.
  std::map<std::string, std::pair<const Graph*, Value>> by_name;
  for (const auto& [value, leaf] : kept) by_name[leaf.name] = value;
  for (const auto& [name, value] : by_name) {
    const auto& [g, v] = value;
    const Role role = kept.at(value).role;
    int slots = 1;
    for (const ProgramSpec& spec : programs)
      if (spec.graph == g && has_slots(role)) slots = std::max(slots, spec.slots);
    plan.leaves.push_back({name, g->type(v), role, local_bytes(g->mesh, g->type(v)), 0, slots});
  }
  for (const ProgramSpec& spec : programs)
    for (const auto& [result, node] : left_open(spec))
      if (const i64 bytes = align_up(workspace(*spec.graph, *node)))
        plan.leaves.push_back({kept_workspace(spec.name, result), {DType::u8, {bytes}, whole(1)}, Role::kept, bytes});
  std::stable_sort(plan.leaves.begin(), plan.leaves.end(), [](const Leaf& a, const Leaf& b) {
    return std::tuple(a.bucket >= 0, a.host, a.role) < std::tuple(b.bucket >= 0, b.host, b.role);
  });
  index.clear();
  for (size_t i = 0; i < plan.leaves.size(); ++i) index[plan.leaves[i].name] = i;
  for (Leaf& l : plan.leaves)
    if (i64& at = l.host ? plan.host_bytes : plan.leaf_bytes; l.bucket < 0) l.offset = at, at += l.stride() * l.slots;
  for (const ProgramSpec& spec : programs)
    for (const ValueInfo& v : spec.graph->values) {
      if (v.node >= 0 || !v.bucket.bucket) continue;
      Leaf& l = plan.leaves[index.at(v.name)];
      l.bucket = int(index.at(spec.graph->info(v.bucket.bucket).name));
      l.offset = plan.leaves[size_t(l.bucket)].offset + v.bucket.element * size_of(v.type.dtype);
    }
  for (const ProgramSpec& spec : programs)
    for (const ValueInfo& v : spec.graph->values)
      if (v.node < 0 && (v.parts.empty() || !plan.find_leaf(v.parts[0].name))) add_parts(plan, v);
}

}  // namespace megalith
