#include "exec/cuda/executor.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <set>

#include "comm/on_all_ranks.h"
#include "exec/cuda/products/gemm_choices.h"
#include "exec/cuda/symmetric/layout.h"
#include "ops/overlapped_product.h"
#include "plan/data_reduction.h"
#include "plan/first_update.h"

namespace megalith::cuda {

i64 workspace_bytes(Device& device, const Graph& g, const Node& n) {
  KernelContext context{g.mesh, Coord{}, {}, {}, device};
  for (Value v : n.ins) context.ins.push_back(g.type(v));
  for (Value v : n.outs) context.outs.push_back(g.type(v));
  return prepare_any(n.op, context).workspace;
}

Executor::Executor(const Plan& plan, const Coord& coord, Device& device, const Peers* peers, bool is_deferred)
    : plan_(plan), coord_(coord), device_(device), peers_(peers) {
  for (const Program& p : plan_.programs) prepare(p), doing_.push_back("program " + p.name);
  find_waits();
  if (!is_deferred) take_memory();
}

void Executor::take_memory() {
  const i64 bytes = std::max<i64>(plan_.arena_bytes, 1);
  const auto allocate = [&] {
    arena_ = try_device_memory(bytes);
    check(arena_ != nullptr,
          "cannot allocate the plan's {} bytes on {}, {} are free: use a smaller --micro-batch-size or model",
          plan_.arena_bytes, device_.name(), device_.free_bytes());
  };
  peers_ ? on_all_ranks(peers_->ranks, allocate) : allocate();
  host_ = zeroed_pinned(plan_.host_bytes);
  if (peers_) peers_->comms.share(arena_.get(), bytes, layout_of_transfers(plan_));
  place_steps();
  tune_alike();
  check_cuda(cudaMemsetAsync(arena_.get(), 0, size_t(bytes), device_.stream()), "zeroing the arena");
}

Executor::~Executor() {
  cudaStreamSynchronize(device_.stream());
  drop_graphs();
  if (!peers_) return;
  peers_->comms.unshare(arena_.get());
  peers_->ranks.doing(nullptr);
}

void Executor::drop_graphs() {
  for (Captured& p : programs_) {
    for (auto& [key, graph] : p.graphs) cudaGraphExecDestroy(graph);
    p.graphs.clear();
  }
}

Executor::Step Executor::make_step(const Program& p, const Instruction& in) {
  Step s;
  KernelContext context{plan_.mesh, coord_, {}, {}, device_, peers_ ? &peers_->comms : nullptr, to_string(in.origin)};
  const auto take = [&](const std::vector<int>& buffers, std::vector<Type>& types, std::vector<i64>& strides) {
    for (int b : buffers) types.push_back(p.buffers[b].type), strides.push_back(plan_.slot_stride(p.buffers[b]));
  };
  take(in.ins, context.ins, s.in_strides), take(in.outs, context.outs, s.out_strides);
  s.first_only = in.first_only, s.kernel = prepare_any(in.op, context);
  check(s.kernel.workspace <= in.workspace_bytes, "[{}] asks for {} bytes of workspace, the plan has {}", in.op.name(),
        s.kernel.workspace, in.workspace_bytes);
  s.lane = in.op.lane(), s.reduces = is_data_reduction(plan_.mesh, in.op);
  if (s.lane) s.done = make_event(), lanes_[s.lane];
  if (const auto* both = in.op.get_if<OverlappedProduct>()) s.beside = &lanes_[both->move.lane];
  if (const auto* op = relayout_of(in.op); op && peers_) {
    const auto group = communicator_group_of(*op, plan_.mesh, coord_);
    const bool may_skip = group && in.op.get_if<SharedAmax>() && peers_->comms.at(*group).decides_on_gpu();
    if (group && !may_skip) s.transfer = peers_->watch.add(describe(*op, plan_.mesh, *group, to_string(in.origin)));
  }
  return s;
}

// The addresses of buffers, once there is memory.
void Executor::place_steps() {
  for (size_t k = 0; k < programs_.size(); ++k) {
    const Program& p = plan_.programs[k];
    for (size_t i = 0; i < p.instructions.size(); ++i) {
      Step& s = programs_[k].steps[i];
      for (int b : p.instructions[i].ins) s.ins.push_back(at(p.buffers[b]));
      for (int b : p.instructions[i].outs) s.outs.push_back(at(p.buffers[b]));
      s.workspace = arena_.get() + p.instructions[i].workspace;
    }
  }
}

void Executor::tune_all() {
  for (Captured& p : programs_)
    for (const Step& s : p.steps)
      if (s.kernel.tune) s.kernel.tune({s.ins, s.outs, s.workspace, true, device_.stream()});
}

// Ranks with the same plan use the algorithms that the first of them chooses.
void Executor::tune_alike() {
  if (!peers_) return tune_all();
  const Coord first = plan_.mesh.at(coord_, groups::stage, 0);
  if (first == coord_) tune_all();
  const std::vector<std::string> choices =
      peers_->ranks.all_gather(first == coord_ ? device_.gemm_choices().text() : "");
  if (first == coord_) return;
  device_.gemm_choices().take(choices.at(size_t(plan_.mesh.rank(first))));
  tune_all();
}

void Executor::prepare(const Program& p) {
  Captured captured;
  for (const Instruction& in : p.instructions) captured.steps.push_back(make_step(p, in));
  captured.update = first_update(plan_, p);
  programs_.push_back(std::move(captured));
}

void Executor::find_waits() {
  const std::vector<std::vector<InstructionPlace>> ended = origins_of_waits(plan_);
  for (size_t k = 0; k < programs_.size(); ++k)
    for (size_t i = 0; i < programs_[k].steps.size(); ++i) programs_[k].steps[i].begun_by = ended[k][i];
}

void Executor::run_kernel(const Step& s, bool first, int slot, cudaStream_t stream) {
  const auto placed = [&](std::vector<std::byte*> at, const std::vector<i64>& strides) {
    for (size_t i = 0; i < at.size(); ++i) at[i] += slot * strides[i];
    return at;
  };
  const auto ins = placed(s.ins, s.in_strides), outs = placed(s.outs, s.out_strides);
  OwnTime* time = own_clock_ && !s.lane && !s.beside ? own_clock_->time() : nullptr;
  const bool is_timed = reductions_ && s.reduces && !s.lane;
  if (is_timed) reductions_->begin(stream);
  if (s.transfer) peers_->watch.begin(s.transfer, stream, time);
  const auto waits = [this](bool begins) { mark_own(begins ? Moment::wait_begins : Moment::wait_ends); };
  s.kernel.run({ins, outs, s.workspace, first, stream, s.beside, waits});
  if (s.transfer) peers_->watch.end(s.transfer, stream, time);
  if (is_timed) reductions_->end(stream);
}

void Executor::mark_own(Moment moment) {
  if (own_clock_) launch_mark(nullptr, 0, device_.stream(), own_clock_->time(), moment);
}

void Executor::enqueue(const Step& s, bool first, int slot) {
  if (s.first_only && !first) return;
  if (s.begun_by) {
    const Step& begun = step_at(s.begun_by);
    const bool is_timed = reductions_ && begun.reduces;
    mark_own(Moment::wait_begins);
    if (is_timed) reductions_->begin(device_.stream());
    check_cuda(cudaStreamWaitEvent(device_.stream(), begun.done.get()), "ending what a lane does");
    if (is_timed) reductions_->end(device_.stream());
    mark_own(Moment::wait_ends);
    return;
  }
  if (!s.lane) return run_kernel(s, first, slot, device_.stream());
  Lane& lane = lanes_.at(s.lane);
  lane.fork_from(device_.stream());
  run_kernel(s, first, slot, lane.stream());
  check_cuda(cudaEventRecord(s.done.get(), lane.stream()), "beginning what a lane does");
}

void Executor::enqueue_timed(int program, size_t step, bool first, int slot) {
  enqueue(programs_[size_t(program)].steps[step], first, slot);
  if (tag_clock_) tag_clock_->behind(program, step, device_.stream());
}

void Executor::enqueue(int program, Stretch steps, bool first, int slot, const std::function<void()>& behind_each) {
  const Program& p = plan_.programs[program];
  for (size_t i = steps.begin; i < steps.end; ++i) {
    nvtxRangePushA(std::string(p.instructions[i].op.name()).c_str());
    enqueue_timed(program, i, first, slot);
    nvtxRangePop();
    if (behind_each) behind_each();
  }
}

cudaGraphExec_t Executor::capture(int program, Stretch steps, bool first, int slot) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  check_cuda(cudaStreamBeginCapture(device_.stream(), cudaStreamCaptureModeThreadLocal), "capturing a program");
  try {
    enqueue(program, steps, first, slot);
  } catch (...) {  // otherwise the stream would be unusable, even for waiting
    cudaStreamEndCapture(device_.stream(), &graph);
    if (graph) cudaGraphDestroy(graph);
    throw;
  }
  check_cuda(cudaStreamEndCapture(device_.stream(), &graph), "capturing a program");
  const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(status, "making a graph of a program");
  return made;
}

// Nodes that use a lane are between graphs. If a transfer were a branch of a graph, the driver would choose its
// hardware queue. It could run before or after unrelated work. Gathers that started as branches overlapped with
// nothing. If such a gather preceded a transfer that waits for another rank, ranks could deadlock.
void Executor::walk(int program, bool first, const EachStretch& in_graph, const EachStep& between) {
  const std::vector<Step>& steps = programs_[size_t(program)].steps;
  const auto cuts = [&](const Step& s) { return (s.lane || s.begun_by || s.beside) && (first || !s.first_only); };
  for (size_t begin = 0; begin < steps.size();) {
    if (cuts(steps[begin])) {
      between(begin++);
      continue;
    }
    const size_t end = size_t(std::find_if(steps.begin() + i64(begin), steps.end(), cuts) - steps.begin());
    in_graph({begin, end}), begin = end;
  }
}

cudaGraphExec_t Executor::graph(int program, Stretch steps, bool first, int slot) {
  auto& graphs = programs_[size_t(program)].graphs;
  const std::tuple key(first, slot, steps.begin);
  auto it = graphs.find(key);
  if (it == graphs.end()) it = graphs.emplace(key, capture(program, steps, first, slot)).first;
  return it->second;
}

void Executor::make_ready(int program, bool first, int slot) {
  const auto upload = [&](Stretch steps) {
    check_cuda(cudaGraphUpload(graph(program, steps, first, slot), device_.stream()), "making a graph of a program");
  };
  walk(program, first, upload, [](size_t) {});
}

void Executor::launch(int program, bool first, int slot) {
  if (!graphs_) return enqueue(program, whole(program), first, slot);
  const auto launch = [&](Stretch steps) {
    check_cuda(cudaGraphLaunch(graph(program, steps, first, slot), device_.stream()), "launching a program");
  };
  walk(program, first, launch, [&](size_t step) { enqueue_timed(program, step, first, slot); });
}

bool Executor::updates(int program) const {
  const Captured& p = programs_[size_t(program)];
  return p.update < p.steps.size();
}

void Executor::run(int program, bool first, int slot) {
  run_by(program, [&] { launch(program, first, slot); });
}

void Executor::run(int program, bool first, int slot, const std::function<void()>& before_update) {
  const size_t update = programs_[size_t(program)].update;
  run_by(program, [&] {
    enqueue(program, {0, update}, first, slot);
    before_update();
    enqueue(program, {update, whole(program).end}, first, slot);
  });
}

void Executor::run_by(int program, const std::function<void()>& queue) {
  if (peers_) peers_->ranks.doing(&doing_[program]), peers_->watch.begin_run(plan_.programs[program].name);
  if (timed_) marks_.push_back(mark());
  mark_own(Moment::run_begins);
  if (tag_clock_) tag_clock_->begin_run(program, device_.stream());
  queue();
  if (timed_) marks_.push_back(mark());
  if (peers_) peers_->watch.end_run(device_.stream(), own_clock_ ? own_clock_->time() : nullptr);
}

double Executor::own_seconds() {
  if (own_clock_) return own_clock_->seconds();
  if (!peers_) return 0;
  remake_graphs([&] { own_clock_ = std::make_unique<OwnClock>(); });
  return 0;
}

// The existing graphs have no marks for a clock, so they are captured again.
void Executor::remake_graphs(const std::function<void()>& change) {
  check_cuda(cudaStreamSynchronize(device_.stream()), "timing");
  std::set<std::tuple<int, bool, int>> made;
  for (size_t k = 0; k < programs_.size(); ++k)
    for (const auto& [key, graph] : programs_[k].graphs) made.insert({int(k), std::get<bool>(key), std::get<int>(key)});
  drop_graphs();
  change();
  for (const auto& [program, first, slot] : made) make_ready(program, first, slot);
}

// The start of a lane's work takes no time in the compute stream.
void Executor::time_by_tags(TimeTags tags) {
  for (size_t k = 0; k < programs_.size(); ++k)
    for (size_t i = 1; i < programs_[k].steps.size(); ++i)
      if (programs_[k].steps[i].lane) tags.of[k][i] = tags.of[k][i - 1];
  remake_graphs([&] { tag_clock_ = std::make_unique<TagClock>(std::move(tags)); });
}

void Executor::tell_reductions(std::function<void(double seconds)> told) {
  if (peers_) remake_graphs([&] { reductions_ = std::make_unique<ReductionClock>(std::move(told)); });
}

void Executor::skip_time() {
  if (tag_clock_) tag_clock_->skip(device_.stream());
}

}  // namespace megalith::cuda
