#include "plan/lanes.h"

#include <algorithm>
#include <map>

#include "graph/relayout_op.h"

namespace megalith {

namespace {

const Relayout* on_lane(const Instruction& in) {
  const auto* op = in.op.get_if<Relayout>();
  return op && op->lane ? op : nullptr;
}

}  // namespace

std::vector<std::vector<Origin>> origins_of_waits(const Plan& plan) {
  std::map<int, Origin> into;                                   // what is moved into a leaf
  std::map<std::pair<int, int>, const Instruction*> not_ended;  // by place
  for (int k = 0; k < int(plan.programs.size()); ++k)
    for (int i = 0; i < int(plan.programs[size_t(k)].instructions.size()); ++i) {
      const Program& p = plan.programs[size_t(k)];
      const Instruction& in = p.instructions[size_t(i)];
      const Relayout* op = on_lane(in);
      if (op) not_ended[{k, i}] = &in;
      if (op && op->into) into[p.buffers[size_t(in.outs[0])].leaf] = {k, i};
    }
  std::vector<std::vector<Origin>> out;
  for (int k = 0; k < int(plan.programs.size()); ++k) {
    const Program& p = plan.programs[size_t(k)];
    std::vector<Origin> producer(p.buffers.size());
    out.emplace_back(p.instructions.size());
    for (int i = 0; i < int(p.instructions.size()); ++i) {
      const Instruction& in = p.instructions[size_t(i)];
      if (in.op.get_if<Wait>()) {
        const size_t moved = size_t(in.ins[0]);
        const Origin from = producer[moved] ? producer[moved] : into[p.buffers[moved].leaf];
        check(from && on_lane(plan.programs[size_t(from.program)].instructions[size_t(from.instruction)]),
              "program {}: a wait for what no lane does: {}", p.name, in.tag);
        not_ended.erase({from.program, from.instruction});
        out.back()[size_t(i)] = from;
      }
      for (int b : in.outs) producer[size_t(b)] = {k, i};
    }
  }
  for (const auto& [place, in] : not_ended)
    fail("program {}: a relayout on a lane that nothing waits for: {}", plan.programs[size_t(place.first)].name,
         in->tag);
  return out;
}

bool runs(const ProgramSpec& program, const Node& node) {
  return std::find(program.phases.begin(), program.phases.end(), node.phase) != program.phases.end();
}

std::map<Value, const Node*> left_open(const ProgramSpec& program) {
  std::map<Value, const Node*> open;
  for (const Node& n : program.graph->nodes) {
    if (!runs(program, n)) continue;
    if (const auto* r = n.op.get_if<Relayout>(); r && r->lane) open[n.outs[0]] = &n;
    if (n.op.get_if<Wait>()) open.erase(n.ins[0]);
  }
  return open;
}

}  // namespace megalith
