#include "exec/cuda/executor.h"

#include <nvtx3/nvToolsExt.h>

namespace megalith::cuda {

i64 workspace_bytes(Device& device, const Graph& g, const Node& n) {
  Site site{g.mesh, Coord{}, {}, {}, device};
  for (Value v : n.ins) site.ins.push_back(g.type(v));
  for (Value v : n.outs) site.outs.push_back(g.type(v));
  return prepare_any(n.op, site).workspace;
}

Executor::Executor(const Plan& plan, const Coord& coord, Device& device) : plan_(plan), coord_(coord), device_(device) {
  const size_t bytes = size_t(std::max<i64>(plan.arena_bytes, 1));
  check(cudaMalloc(reinterpret_cast<void**>(&arena_), bytes) == cudaSuccess,
        "cannot allocate the plan's {} bytes on {}, {} are free: use a smaller --micro-batch-size or model",
        plan.arena_bytes, device.name(), device.free_bytes());
  for (const Program& p : plan.programs) {
    Captured captured;
    for (const Instruction& in : p.instructions) {
      Step s;
      Site site{plan.mesh, coord, {}, {}, device};
      for (int b : in.ins) s.ins.push_back(arena_ + p.buffers[b].offset), site.ins.push_back(p.buffers[b].type);
      for (int b : in.outs) s.outs.push_back(arena_ + p.buffers[b].offset), site.outs.push_back(p.buffers[b].type);
      s.workspace = arena_ + in.workspace;
      s.kernel = prepare_any(in.op, site);
      check(s.kernel.workspace <= in.workspace_bytes, "[{}] asks for {} bytes of workspace, the plan has {}",
            in.op.name(), s.kernel.workspace, in.workspace_bytes);
      captured.steps.push_back(std::move(s));
    }
    programs_.push_back(std::move(captured));
  }
  for (Captured& p : programs_)
    for (const Step& s : p.steps)
      if (s.kernel.tune) s.kernel.tune(args(s, true));
  check_cuda(cudaMemsetAsync(arena_, 0, bytes, device.stream()), "zeroing the arena");
}

Executor::~Executor() {
  for (Captured& p : programs_)
    for (cudaGraphExec_t g : p.graphs)
      if (g) cudaGraphExecDestroy(g);
  cudaStreamSynchronize(device_.stream());
  cudaFree(arena_);
}

Args Executor::args(const Step& s, bool first) { return {s.ins, s.outs, s.workspace, first, device_.stream()}; }

void Executor::enqueue(int program, bool first, const std::function<void()>& behind_each) {
  const Program& p = plan_.programs[program];
  for (size_t i = 0; i < p.instructions.size(); ++i) {
    nvtxRangePushA(std::string(p.instructions[i].op.name()).c_str());
    programs_[program].steps[i].kernel.run(args(programs_[program].steps[i], first));
    nvtxRangePop();
    if (behind_each) behind_each();
  }
}

void Executor::capture(int program, bool first) {
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamBeginCapture(device_.stream(), cudaStreamCaptureModeThreadLocal), "capturing a program");
  enqueue(program, first);
  check_cuda(cudaStreamEndCapture(device_.stream(), &graph), "capturing a program");
  const cudaError_t status = cudaGraphInstantiate(&programs_[program].graphs[first], graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(status, "making a graph of a program");
}

void Executor::launch(int program, bool first) {
  if (!graphs_) return enqueue(program, first);
  if (!programs_[program].graphs[first]) capture(program, first);
  check_cuda(cudaGraphLaunch(programs_[program].graphs[first], device_.stream()), "launching a program");
}

void Executor::run(int program, bool first, int slot) {
  check(slot == 0, "pipeline stages on GPUs are not built yet");
  if (timed_) marks_.push_back(mark());
  launch(program, first);
  if (timed_) marks_.push_back(mark());
}

Executor::Event Executor::mark() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "making an event");
  Event owned(event);
  check_cuda(cudaEventRecord(event, device_.stream()), "timing");
  return owned;
}

static double seconds_between(cudaEvent_t begin, cudaEvent_t end) {
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, begin, end), "timing");
  return double(ms) / 1e3;
}

double Executor::busy_seconds() {
  check_cuda(cudaStreamSynchronize(device_.stream()), "timing");
  double sum = 0;
  for (size_t i = 0; i + 1 < marks_.size(); i += 2) sum += seconds_between(marks_[i].get(), marks_[i + 1].get());
  marks_.clear();
  timed_ = true;
  return sum;
}

std::vector<double> Executor::time_instructions(int program) {
  launch(program, true);
  std::vector<Event> marks;
  marks.push_back(mark());
  enqueue(program, true, [&] { marks.push_back(mark()); });
  check_cuda(cudaStreamSynchronize(device_.stream()), "timing");
  std::vector<double> seconds;
  for (size_t i = 0; i + 1 < marks.size(); ++i) seconds.push_back(seconds_between(marks[i].get(), marks[i + 1].get()));
  return seconds;
}

}  // namespace megalith::cuda
