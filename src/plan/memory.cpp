// Places buffers by size, largest first. Each gets the lowest address that is free during its lifetime (Pisarchyk, Lee
// 2020: greedy by size, within a few percent of the lower bound for transformer steps).
#include <algorithm>
#include <numeric>

#include "plan/collect_leaves.h"
#include "plan/lanes.h"
#include "plan/unverified.h"

namespace megalith {

namespace {

struct Slot {  // a range of memory: one buffer, several buffers that share it in turn, or an instruction's workspace
  i64 bytes = 0, offset = 0;
  int first, last;
};

using LeafIndex = std::map<std::string, int>;  // by name

class ProgramPlanner {
 public:
  ProgramPlanner(Plan& plan, const ProgramSpec& spec, const Kept& kept, const LeafIndex& leaf_index,
                 const WorkspaceOf& workspace)
      : plan_(plan),
        g_(*spec.graph),
        kept_(kept),
        leaf_index_(leaf_index),
        workspace_(workspace),
        index_(g_.values.size(), -1) {
    program_.name = spec.name;
    for (const Node& n : g_.nodes)
      if (runs(spec, n)) nodes_.push_back(&n);
  }

  Program run() {
    make_buffers();
    find_lifetimes();
    share();
    place();
    return std::move(program_);
  }

 private:
  int buffer_of(Value v) {
    if (index_[size_t(v.id)] >= 0) return index_[size_t(v.id)];
    const ValueInfo& info = g_.info(v);
    Buffer b{info.type, local_bytes(g_.mesh, info.type)};
    if (info.node < 0) b.leaf = leaf_index_.at(info.name);
    if (const auto kept = kept_.find({&g_, v}); kept != kept_.end()) b.leaf = leaf_index_.at(kept->second.name);
    program_.buffers.push_back(std::move(b));
    slot_.push_back(-1);
    return index_[size_t(v.id)] = int(program_.buffers.size()) - 1;
  }

  void make_buffers() {
    std::vector<bool> defined(g_.values.size());
    for (const Node* n : nodes_) {
      Instruction in{n->op, {}, {}, n->phase, n->origin};
      in.first_only = n->first_only;
      in.workspace_bytes = align_up(workspace_(g_, *n));
      if (n->op.lane()) {
        const auto kept = leaf_index_.find(kept_workspace(program_.name, n->outs[0]));
        if (kept != leaf_index_.end()) in.workspace = plan_.leaves[size_t(kept->second)].offset;
      }
      for (Value v : n->ins) {
        in.ins.push_back(buffer_of(v));
        if (g_.info(v).node >= 0 && !defined[size_t(v.id)]) program_.buffers[in.ins.back()].leaf = carried_leaf(v);
      }
      for (Value v : n->outs) in.outs.push_back(buffer_of(v)), defined[size_t(v.id)] = true;
      for (const Alias& a : n->op.aliases())
        if (a.must || a.view) program_.buffers[in.outs[a.out]].leaf = program_.buffers[in.ins[a.in]].leaf;
      program_.instructions.push_back(std::move(in));
    }
    for (auto& [name, v] : g_.outputs)
      if (const int b = index_[size_t(v.id)]; b >= 0) program_.outputs[name] = b;
  }

  // A value of another program: it is an in-place updated leaf, or is kept.
  int carried_leaf(Value v) {
    const Value root = memory_of(g_, v);
    if (g_.info(root).node < 0) return leaf_index_.at(g_.info(root).name);
    return leaf_index_.at(kept_.at({&g_, root}).name);
  }

  void find_lifetimes() {
    for (int i = 0; i < int(program_.instructions.size()); ++i) {
      for (int b : program_.instructions[i].ins) touch(b, i);
      for (int b : program_.instructions[i].outs) touch(b, i);
    }
    for (auto& [name, b] : program_.outputs) program_.buffers[b].last = int(program_.instructions.size());
  }
  void touch(int b, int i) {
    Buffer& buffer = program_.buffers[b];
    if (buffer.first < 0) buffer.first = i;
    buffer.last = std::max(buffer.last, i);
  }

  // One slot a buffer. A result takes the slot of an input that ends with the instruction, if the op allows it.
  void share() {
    for (int i = 0; i < int(program_.instructions.size()); ++i) {
      Instruction& in = program_.instructions[i];
      for (size_t k = 0; k < in.outs.size(); ++k) {
        Buffer& out = program_.buffers[in.outs[k]];
        if (out.leaf >= 0 || slot_[in.outs[k]] >= 0) continue;
        int taken = -1;
        for (const Alias& a : in.op.aliases())
          if (a.out == int(k) && taken < 0 && (a.view || can_take(in, a, i))) taken = slot_[in.ins[a.in]];
        if (taken < 0) {
          taken = int(slots_.size());
          slots_.push_back({out.bytes, 0, out.first, out.last});
        }
        slots_[taken].last = std::max(slots_[taken].last, out.last);
        slot_[in.outs[k]] = taken;
      }
      if (in.workspace_bytes > 0 && in.workspace == 0) {  // a workspace in a leaf has an offset other than 0
        workspace_slot_[i] = int(slots_.size());
        slots_.push_back({in.workspace_bytes, 0, i, std::max(i, end_of(in))});
      }
    }
  }
  // Work on a lane runs until its Wait, the only reader of its result.
  int end_of(const Instruction& in) const { return in.op.lane() ? program_.buffers[in.outs[0]].last : -1; }
  bool can_take(const Instruction& in, const Alias& a, int i) const {
    const int from = in.ins[a.in];
    const Buffer &b = program_.buffers[from], &out = program_.buffers[in.outs[a.out]];
    if (b.leaf >= 0 || b.last != i || b.bytes != out.bytes || slot_[from] < 0 || slots_[slot_[from]].last != i)
      return false;
    const auto once = std::count(in.ins.begin(), in.ins.end(), from) == 1;
    for (size_t k = 0; k < in.outs.size(); ++k)  // another result may have taken it already
      if (in.outs[k] != in.outs[a.out] && slot_[in.outs[k]] == slot_[from]) return false;
    return once;
  }

  void place() {
    std::vector<int> order(slots_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return slots_[a].bytes > slots_[b].bytes; });
    std::vector<int> placed;  // by offset
    i64 top = 0;
    for (int s : order) {
      Slot& slot = slots_[s];
      const i64 bytes = align_up(slot.bytes);
      i64 at = 0;
      for (int p : placed) {
        const Slot& other = slots_[p];
        if (other.last < slot.first || slot.last < other.first) continue;
        if (at + bytes <= other.offset) break;
        at = std::max(at, other.offset + align_up(other.bytes));
      }
      slot.offset = at;
      top = std::max(top, at + bytes);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), s,
                                     [&](int a, int b) { return slots_[a].offset < slots_[b].offset; }),
                    s);
    }
    program_.activation_bytes = top;
    for (size_t b = 0; b < program_.buffers.size(); ++b) {
      Buffer& buffer = program_.buffers[b];
      if (buffer.leaf >= 0)
        buffer.offset = plan_.leaves[buffer.leaf].offset;
      else if (slot_[b] >= 0)
        buffer.offset = plan_.leaf_bytes + slots_[slot_[b]].offset;
    }
    for (auto& [i, s] : workspace_slot_) program_.instructions[i].workspace = plan_.leaf_bytes + slots_[s].offset;
  }

  Plan& plan_;
  const Graph& g_;
  const Kept& kept_;
  const LeafIndex& leaf_index_;
  const WorkspaceOf& workspace_;
  Program program_;
  std::vector<const Node*> nodes_;
  std::vector<int> index_;  // the buffer of each value; -1: none
  std::vector<int> slot_;   // of each buffer; -1: a leaf's
  std::vector<Slot> slots_;
  std::map<int, int> workspace_slot_;
};

}  // namespace

Plan plan_memory_unverified(const Mesh& mesh, const std::vector<ProgramSpec>& programs,
                            const std::function<i64(const Graph&, const Node&)>& workspace) {
  Plan plan;
  plan.mesh = mesh;
  const Kept kept = find_kept(programs);
  collect_leaves(plan, programs, kept, workspace);
  LeafIndex leaf_index;
  for (size_t i = 0; i < plan.leaves.size(); ++i) leaf_index[plan.leaves[i].name] = int(i);
  i64 most = 0;
  for (const ProgramSpec& spec : programs) {
    plan.programs.push_back(ProgramPlanner(plan, spec, kept, leaf_index, workspace).run());
    most = std::max(most, plan.programs.back().activation_bytes);
  }
  plan.arena_bytes = plan.leaf_bytes + most;
  return plan;
}

}  // namespace megalith
