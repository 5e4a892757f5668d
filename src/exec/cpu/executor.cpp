#include "exec/cpu/executor.h"

#include <sys/mman.h>

#include <chrono>
#include <utility>

#include "ops/overlapped_product.h"
#include "plan/data_reduction.h"

namespace megalith::cpu {

static bool is_with_others(const Mesh& mesh, const AnyOp& op) {
  const auto* r = relayout_of(op);
  return op.get_if<Wait>() || (r && !is_local(r->transfer) && mesh.n(r->axes) > 1);
}

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

i64 workspace_bytes(const Graph& g, const Node& n) {
  KernelContext context{g.mesh, Coord{}, {}, {}};
  for (Value v : n.ins) context.ins.push_back(g.type(v));
  for (Value v : n.outs) context.outs.push_back(g.type(v));
  return prepare_any(n.op, context).workspace;
}

void Executor::Unmap::operator()(std::byte* p) const { munmap(p, bytes); }

Executor::Reserved Executor::reserve(i64 bytes) {
  const size_t size = size_t(std::max<i64>(bytes, 1));
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return {nullptr, Unmap{0}};
  madvise(memory, size, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(memory), Unmap{size}};
}

Executor::Executor(const Plan& plan, const Coord& coord, Ranks* ranks)
    : plan_(plan), coord_(coord), arena_(reserve(plan.arena_bytes)), host_(reserve(plan.host_bytes)) {
  check(arena_ != nullptr, "cannot allocate the plan's {} bytes of memory: use a smaller --micro-batch-size or model",
        plan.arena_bytes);
  check(host_ != nullptr,
        "cannot allocate the plan's {} bytes of host memory for offloaded values: give a lower "
        "--optimizer-offload-fraction or --activation-offload-fraction",
        plan.host_bytes);
  const std::vector<std::vector<InstructionPlace>> ended = origins_of_waits(plan);
  for (const Program& p : plan.programs) {
    std::vector<Step> steps;
    for (const Instruction& in : p.instructions) {
      Step s;
      KernelContext context{plan.mesh, coord, {}, {}, ranks, to_string(in.origin)};
      for (int b : in.ins) s.ins.push_back(at(p.buffers[b])), context.ins.push_back(p.buffers[b].type);
      for (int b : in.outs) s.outs.push_back(at(p.buffers[b])), context.outs.push_back(p.buffers[b].type);
      for (int b : in.ins) s.in_strides.push_back(plan.slot_stride(p.buffers[b]));
      for (int b : in.outs) s.out_strides.push_back(plan.slot_stride(p.buffers[b]));
      s.workspace = arena_.get() + in.workspace;
      s.kernel = prepare_any(in.op, context);
      s.with_others = is_with_others(plan.mesh, in.op);
      s.reduces = is_data_reduction(plan.mesh, in.op);
      s.first_only = in.first_only;
      s.begun_by = ended[programs_.size()][steps.size()];
      check(s.kernel.workspace <= in.workspace_bytes, "[{}] asks for {} bytes of workspace, the plan has {}",
            in.op.name(), s.kernel.workspace, in.workspace_bytes);
      steps.push_back(std::move(s));
    }
    programs_.push_back(std::move(steps));
  }
}

int Executor::program_index(const std::string& name) const { return int(&plan_.program(name) - plan_.programs.data()); }

void Executor::run_instruction(int program, int instruction, bool first, int slot) {
  Step& s = programs_[program][instruction];
  if (s.first_only && !first) return;
  Step& works = s.begun_by ? programs_[s.begun_by.program][s.begun_by.instruction] : s;
  const auto placed = [&](std::vector<std::byte*> at, const std::vector<i64>& strides) {
    for (size_t i = 0; i < at.size(); ++i) at[i] += slot * strides[i];
    return at;
  };
  const auto ins = placed(works.ins, works.in_strides), outs = placed(works.outs, works.out_strides);
  const Args args{ins, outs, works.workspace, first};
  if (watch_) watch_->before(program, instruction);
  const double began = s.with_others ? now() : 0;
  s.begun_by ? works.kernel.finish(args) : works.kernel.run(args);
  if (watch_) watch_->after(program, instruction, {ins, outs});
  if (!s.with_others) return;
  const double seconds = now() - began;
  with_others_ += seconds, works.spent += seconds;
  if (!s.begun_by && works.kernel.finish) return;  // the transfer is still running
  const double spent = std::exchange(works.spent, 0);
  if (works.reduces && told_) told_(spent);
}

void Executor::run(int program, bool first, int slot) {
  if (watch_) watch_->run_begins(program, first, slot);
  for (int i = 0; i < int(programs_[program].size()); ++i) run_instruction(program, i, first, slot);
  if (watch_) watch_->run_ends(program);
}

std::byte* Executor::leaf(const std::string& name) {
  const Leaf& leaf = plan_.leaf(name);
  return (leaf.host ? host_ : arena_).get() + leaf.offset;
}
std::byte* Executor::buffer(int program, int buffer) { return at(plan_.programs[program].buffers[buffer]); }

const double* Executor::output_f64(int program, const std::string& name) {
  return reinterpret_cast<const double*>(buffer(program, plan_.programs[program].outputs.at(name)));
}

}  // namespace megalith::cpu
