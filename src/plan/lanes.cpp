#include "plan/lanes.h"

#include <algorithm>
#include <map>

#include "graph/relayout_op.h"

namespace megalith {

namespace {

bool moves_into(const AnyOp& op) {
  const auto* r = op.get_if<Relayout>();
  return r && r->into;
}

}  // namespace

std::vector<std::vector<InstructionPlace>> origins_of_waits(const Plan& plan) {
  std::map<int, InstructionPlace> into;                         // transfers into leaves
  std::map<std::pair<int, int>, const Instruction*> not_ended;  // by place
  for (int k = 0; k < int(plan.programs.size()); ++k)
    for (int i = 0; i < int(plan.programs[size_t(k)].instructions.size()); ++i) {
      const Program& p = plan.programs[size_t(k)];
      const Instruction& in = p.instructions[size_t(i)];
      if (!in.op.lane()) continue;
      not_ended[{k, i}] = &in;
      if (moves_into(in.op)) into[p.buffers[size_t(in.outs[0])].leaf] = {k, i};
    }
  std::vector<std::vector<InstructionPlace>> out;
  for (int k = 0; k < int(plan.programs.size()); ++k) {
    const Program& p = plan.programs[size_t(k)];
    std::vector<InstructionPlace> producer(p.buffers.size());
    out.emplace_back(p.instructions.size());
    for (int i = 0; i < int(p.instructions.size()); ++i) {
      const Instruction& in = p.instructions[size_t(i)];
      if (in.op.get_if<Wait>()) {
        const size_t moved = size_t(in.ins[0]);
        const InstructionPlace from = producer[moved] ? producer[moved] : into[p.buffers[moved].leaf];
        check(from && plan.programs[size_t(from.program)].instructions[size_t(from.instruction)].op.lane(),
              "program {}: a wait for a transfer that is on no lane: {}", p.name, to_string(in.origin));
        not_ended.erase({from.program, from.instruction});
        out.back()[size_t(i)] = from;
      }
      for (int b : in.outs) producer[size_t(b)] = {k, i};
    }
  }
  for (const auto& [place, in] : not_ended)
    fail("program {}: work on a lane that nothing waits for: {}", plan.programs[size_t(place.first)].name,
         to_string(in->origin));
  return out;
}

bool runs(const ProgramSpec& program, const Node& node) {
  return std::find(program.phases.begin(), program.phases.end(), node.phase) != program.phases.end();
}

std::map<Value, const Node*> left_open(const ProgramSpec& program) {
  std::map<Value, const Node*> open;
  for (const Node& n : program.graph->nodes) {
    if (!runs(program, n)) continue;
    if (n.op.lane()) open[n.outs[0]] = &n;
    if (n.op.get_if<Wait>()) open.erase(n.ins[0]);
  }
  return open;
}

}  // namespace megalith
