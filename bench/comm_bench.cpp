// comm-bench measures transfers between GPUs, one rank each: mpirun -n 2 build/bin/comm-bench. It prints the bus
// bandwidth of collectives as NCCL defines it: in line, in CUDA graphs, and on a lane without. Then products and a
// collective on a lane, with and without overlap, and memory before and after. An argument selects one part: all,
// bandwidth, overlap, or stall (rank 0 waits for the others in vain). A second one, nccl, keeps symmetric memory out.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/log.h"
#include "exec/cuda/executor.h"
#include "exec/cuda/symmetric/comms.h"
#include "ops/einsum.h"

namespace megalith::cuda {
namespace {

constexpr i64 kKiB = 1024, kMiB = 1024 * kKiB;

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

struct Bench {
  Ranks& ranks;
  Device& device;
  Comms& comms;
  Watch& watch;

  int n() const { return ranks.size(); }

  // Seconds of one of the `each` operations that `work` enqueues, in a graph or one by one.
  double time(int each, bool in_graph, const std::function<void(cudaStream_t)>& work) {
    const cudaStream_t stream = device.stream();
    const auto enqueue = [&] {
      for (int i = 0; i < each; ++i) work(stream);
    };
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runs = nullptr;
    if (in_graph) {
      check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
      enqueue();
      check_cuda(cudaStreamEndCapture(stream, &graph), "capture");
      check_cuda(cudaGraphInstantiate(&runs, graph, 0), "capture");
    }
    std::vector<double> seconds;
    for (int i = 0; i < 7; ++i) {
      const Event before = make_event(cudaEventDefault), after = make_event(cudaEventDefault);
      ranks.barrier();
      check_cuda(cudaEventRecord(before.get(), stream), "time");
      in_graph ? check_cuda(cudaGraphLaunch(runs, stream), "time") : enqueue();
      check_cuda(cudaEventRecord(after.get(), stream), "time");
      check_cuda(cudaStreamSynchronize(stream), "time");
      float ms = 0;
      check_cuda(cudaEventElapsedTime(&ms, before.get(), after.get()), "time");
      if (i > 1) seconds.push_back(double(ms) / 1e3 / each);
    }
    if (in_graph) cudaGraphExecDestroy(runs), cudaGraphDestroy(graph);
    return median(seconds);
  }
};

void bandwidths(Bench& b, int lane, const std::function<void(const char*)>& memory) {
  std::vector<int> all;
  for (int r = 0; r < b.n(); ++r) all.push_back(r);
  const CommunicatorGroup collective{CommunicatorGroup::collective, lane, all},
      pairwise{CommunicatorGroup::pairwise, lane, all};
  b.comms.connect({collective});
  memory("with a communicator for collectives");
  b.comms.connect({pairwise});
  memory("with one for all-to-all");
  Comm &c = b.comms.at(collective), &p = b.comms.at(pairwise);
  const i64 most = 256 * kMiB;
  std::byte* x = nullptr;
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&x), size_t(2 * most)), "memory");
  b.comms.share(x, 2 * most, "x");
  check_cuda(cudaMemset(x, 0, size_t(2 * most)), "memory");
  std::byte* const y = x + most;
  const double share = double(b.n() - 1) / b.n();
  for (const i64 bytes : {16 * kKiB, kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB}) {
    const i64 count = bytes / 2, part = count / b.n(), part_bytes = bytes / b.n();
    const int each = bytes > 100 * kMiB ? 5 : 20;
    std::vector<Message> sends, receives;
    for (int k = 0; k < b.n(); ++k)
      if (k != b.ranks.rank())
        sends.push_back({k, x + k * part_bytes, part_bytes}), receives.push_back({k, y + k * part_bytes, part_bytes});
    const auto row = [&](const char* what, double factor, const std::function<void(cudaStream_t)>& work) {
      const double s = b.time(each, lane == 0, work);
      if (b.ranks.rank() == 0)
        log::say("lane {} {:<15} {:6} KiB  {:8.1f} us  {:6.1f} GB/s", lane, what, bytes / kKiB, s * 1e6,
                 factor * double(bytes) / s / 1e9);
    };
    row("all_reduce", 2 * share, [&](cudaStream_t s) { c.all_reduce(x, y, count, DType::bf16, false, s); });
    row("all_gather", share, [&](cudaStream_t s) { c.all_gather(x, y, part, DType::bf16, s); });
    row("reduce_scatter", share, [&](cudaStream_t s) { c.reduce_scatter(x, y, y + part_bytes, part, DType::bf16, s); });
    row("all_to_all", share, [&](cudaStream_t s) { p.exchange(sends, receives, s); });
  }
  b.comms.unshare(x);
  cudaFree(x);
  memory("after its use");
}

// Products, a collective, or both: the collective starts on a lane before the products, and the wait follows them.
struct Program {
  Graph g;
  Plan plan;
  Program(Bench& b, int products, Transfer by, int lane) {
    g.mesh = make_mesh({b.n(), 1, 1, 1});
    Builder builder(g);
    Value begun{}, gradient{};
    if (by != Transfer::none) {
      Type t{DType::f32, {64 * kMiB}, whole(1)};
      if (by == Transfer::all_gather)
        t.layout.dims[0] = {{groups::data}};
      else
        t.layout.partial = {groups::data};
      gradient = builder.leaf({"gradient", t});
      begun = builder.relayout(gradient, {groups::data}, by == Transfer::reduce_scatter ? split(0) : kSame);
      Relayout op = *g.nodes.back().op.get_if<Relayout>();
      op.lane = lane, g.nodes.back().op = op;
    }
    const Type square{DType::bf16, {8192, 8192}, whole(2)};
    for (int k = 0; k < products; ++k)
      g.outputs[fmt::format("z{}", k)] =
          builder.add1(Einsum{"mk,nk->mn", DType::bf16},
                       {builder.leaf({fmt::format("a{}", k), square}), builder.leaf({"b", square})});
    if (by != Transfer::none) g.outputs["sum"] = lane ? builder.add1(Wait{}, {begun, gradient}) : begun;
    plan = plan_memory(g.mesh, {{"bench", &g, {Phase::forward}}},
                       [&](const Graph& graph, const Node& n) { return workspace_bytes(b.device, graph, n); });
  }
};

// A program with its buffers.
struct Ready {
  Program program;
  Peers peers;
  std::unique_ptr<Executor> executor;
  std::vector<double> seconds;

  Ready(Bench& b, int products, Transfer by, int lane)
      : program(b, products, by, lane), peers{b.ranks, b.comms, b.watch} {
    const Coord coord = program.plan.mesh.coord(b.ranks.rank());
    b.comms.connect(communicator_groups_of(program.plan, coord));
    executor = std::make_unique<Executor>(program.plan, coord, b.device, &peers);
    std::vector<bf16> random(size_t(8192 * 8192));
    for (size_t i = 0; i < random.size(); ++i) random[i] = bf16(float(i * 2654435761u % 2001) / 1000 - 1);
    for (const Leaf& l : program.plan.leaves)
      if (l.type.dtype == DType::bf16)
        check_cuda(cudaMemcpy(executor->leaf(l), random.data(), 2 * random.size(), cudaMemcpyHostToDevice), "fill");
  }
  void run(bool counts) {
    executor->busy_seconds();
    executor->run(0, true);
    const double s = executor->busy_seconds();
    if (counts) seconds.push_back(s);
  }
  double ms() const { return median(seconds) * 1e3; }
};

// Runs the variants in turns, because the clock falls while products run.
void overlaps(Bench& b) {
  constexpr int kProducts = 8, kWarm = 20, kRounds = 30;
  for (const Transfer by : {Transfer::all_reduce, Transfer::all_gather, Transfer::reduce_scatter}) {
    Ready products(b, kProducts, Transfer::none, 0), alone(b, 0, by, 0), on_lane(b, 0, by, 1),
        line(b, kProducts, by, 0), both(b, kProducts, by, 1);
    for (int round = 0; round < kWarm + kRounds; ++round)
      for (Ready* r : {&products, &alone, &on_lane, &line, &both}) b.ranks.barrier(), r->run(round >= kWarm);
    if (b.ranks.rank() == 0)
      log::say(
          "{} products of 8192^3 {:.3f} ms; {} of 256 MiB {:.3f} ms, on a lane {:.3f}; one behind the other {:.3f}, "
          "at once {:.3f} ms: {:.3f} exposed",
          kProducts, products.ms(), name_of(by), alone.ms(), on_lane.ms(), line.ms(), both.ms(),
          both.ms() - products.ms());
  }
}

// Only rank 0 starts the collective, so its watch must end it.
int stall(Bench& b) {
  Program p(b, 0, Transfer::all_reduce, 1);
  const Coord coord = p.plan.mesh.coord(b.ranks.rank());
  b.comms.connect(communicator_groups_of(p.plan, coord));
  const Peers peers{b.ranks, b.comms, b.watch};
  Executor executor(p.plan, coord, b.device, &peers);
  b.ranks.barrier();
  if (b.ranks.rank() > 0) std::this_thread::sleep_for(std::chrono::minutes(1));
  executor.run(0, true);
  check_cuda(cudaStreamSynchronize(b.device.stream()), "the run");
  return 0;
}

int bench(const std::string& what, const std::string& by) {
  const Place place = find_place([](const char* name) -> const char* { return std::getenv(name); });
  const auto ranks = join(place);
  Device device(place.local_rank, "");
  const i64 bare = device.free_bytes();
  std::unique_ptr<Comms> comms = make_comms(*ranks, device);
  const SymmetricComms::Settings symmetric{.takes_part = by != "nccl"};
  comms = std::make_unique<SymmetricComms>(*ranks, device, std::move(comms), symmetric);
  Watch watch(*ranks, *comms, {.timeout_seconds = what == "stall" ? 3.0 : 600.0});
  Bench b{*ranks, device, *comms, watch};
  const auto memory = [&](const char* when) {
    if (place.rank == 0)
      log::say("memory of communicators, {}: {:.1f} MiB", when, double(bare - device.free_bytes()) / kMiB);
  };
  if (what == "stall") return stall(b);
  memory("none yet");
  if (what != "overlap")
    for (const int lane : {0, 1}) bandwidths(b, lane, memory);
  if (what != "bandwidth") overlaps(b);
  memory("at the end");
  return 0;
}

}  // namespace
}  // namespace megalith::cuda

int main(int argc, char** argv) {
  try {
    return megalith::cuda::bench(argc > 1 ? argv[1] : "all", argc > 2 ? argv[2] : "symmetric");
  } catch (const std::exception& error) {
    fmt::print(stderr, "comm-bench: {}\n", error.what());
    return 1;
  }
}
