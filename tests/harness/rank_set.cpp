#include "tests/harness/rank_set.h"

#include <omp.h>

#include "ops/delayed_scale.h"
#include "tests/harness/move.h"

namespace megalith::harness {

Plan plan_graph(const Graph& g) {
  return plan_memory(g.mesh, {{"graph", &g, {Phase::forward, Phase::backward, Phase::update}}}, cpu::workspace_bytes);
}

RankSet::RankSet(Plan plan, Fault fault) : plan_(std::move(plan)), fault_(std::move(fault)) {
  omp_set_num_threads(1);  // the arrays are tiny: waking threads would take most of the time
  for (int r = 0; r < mesh().num_ranks(); ++r)
    ranks_.push_back(std::make_unique<cpu::Executor>(plan_, mesh().coord(r)));
}

void RankSet::run(const std::string& name, bool first) {
  const int program = int(&plan_.program(name) - plan_.programs.data());
  const std::vector<Instruction>& instructions = plan_.programs[program].instructions;
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (instructions[i].first_only && !first) continue;
    if (fault_ && fault_(*this, program, instructions[i])) continue;
    if (const auto* op = instructions[i].op.get_if<Relayout>())
      relayout(program, instructions[i], *op);
    else if (const auto* amax = instructions[i].op.get_if<SharedAmax>(); amax && !has_scale(program, instructions[i]))
      relayout(program, instructions[i], amax->move);
    else if (!instructions[i].op.get_if<Wait>())  // lanes do their work immediately here
      for (auto& rank : ranks_) rank->run_instruction(program, int(i), first);
  }
}

// Whether the state that all ranks have has a scale for the tensor, so that ranks exchange nothing.
bool RankSet::has_scale(int program, const Instruction& in) {
  const auto* scales = reinterpret_cast<const float*>(ranks_[0]->buffer(program, in.ins[1]));
  return scales[in.op.get_if<SharedAmax>()->at] != 0;
}

void RankSet::relayout(int program, const Instruction& in, const Relayout& op) {
  const std::vector<Buffer>& buffers = plan_.programs[program].buffers;
  const Blocks xs = blocks(program, in.ins[0]);
  set_blocks(program, in.outs[0], move(mesh(), op, buffers[in.ins[0]].type, buffers[in.outs[0]].type, xs));
}

Blocks RankSet::blocks(int program, int buffer) {
  const Type& type = plan_.programs[program].buffers[buffer].type;
  const i64 n = local_type(mesh(), type).elements();
  Blocks out;
  for (auto& rank : ranks_) out.push_back(from_bytes(type.dtype, rank->buffer(program, buffer), n));
  return out;
}

void RankSet::set_blocks(int program, int buffer, const Blocks& blocks) {
  const Type& type = plan_.programs[program].buffers[buffer].type;
  for (size_t r = 0; r < ranks_.size(); ++r) to_bytes(type.dtype, blocks[r], ranks_[r]->buffer(program, buffer));
}

void RankSet::run_at(int program, const Instruction& in, const std::function<Coord(Coord)>& where) {
  const std::vector<Buffer>& buffers = plan_.programs[program].buffers;
  for (auto& rank : ranks_) {
    cpu::KernelContext context{mesh(), where(rank->coord()), {}, {}};
    std::vector<std::byte*> ins, outs;
    for (int b : in.ins) context.ins.push_back(buffers[b].type), ins.push_back(rank->buffer(program, b));
    for (int b : in.outs) context.outs.push_back(buffers[b].type), outs.push_back(rank->buffer(program, b));
    const cpu::Kernel kernel = cpu::prepare_any(in.op, context);
    std::vector<double> workspace(size_t(kernel.workspace) / sizeof(double) + 16);  // 64-byte aligned within
    void* place = workspace.data();
    size_t space = workspace.size() * sizeof(double);
    std::align(64, size_t(kernel.workspace), place, space);
    kernel.run({ins, outs, static_cast<std::byte*>(place), true});
  }
}

void RankSet::write(const std::string& name, const Tensor& logical) {
  const Leaf& leaf = plan_.leaf(name);
  const Blocks blocks = place(mesh(), leaf.type, logical);
  for (size_t r = 0; r < ranks_.size(); ++r) to_bytes(leaf.type.dtype, blocks[r], ranks_[r]->leaf(name));
}

Tensor RankSet::read(const std::string& name) {
  const Leaf& leaf = plan_.leaf(name);
  const i64 n = local_type(mesh(), leaf.type).elements();
  Blocks blocks;
  for (auto& rank : ranks_) blocks.push_back(from_bytes(leaf.type.dtype, rank->leaf(name), n));
  return assemble(mesh(), leaf.type, blocks);
}

Tensor RankSet::output(const std::string& program, const std::string& name) {
  const int index = int(&plan_.program(program) - plan_.programs.data());
  const auto it = plan_.programs[index].outputs.find(name);
  check(it != plan_.programs[index].outputs.end(), "program {} has no output {}", program, name);
  return assemble(mesh(), plan_.programs[index].buffers[it->second].type, blocks(index, it->second));
}

}  // namespace megalith::harness
