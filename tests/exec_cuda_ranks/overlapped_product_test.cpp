// Products that overlap their transfers on GPUs, against the same ops one after the other. Ranks are threads that share
// the GPUs that there are.
#include "base/rng.h"
#include "exec/cuda/executor.h"
#include "exec/cuda/symmetric/comms.h"
#include "passes/pass.h"
#include "tests/exec_cuda_ranks/gpus.h"
#include "tests/exec_cuda_ranks/host_comms.h"
#include "tests/harness/overlapped_graph.h"
#include "tests/harness/tensor.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {

namespace {

using namespace harness;

// Parts of 1 MiB and more, which copy engines move between ranks with their own GPUs.
LayerSizes sizes(int ranks) { return {.rows = 4096 * ranks, .batch = 1, .hidden = 128, .inner = 64 * ranks}; }

struct Outputs {
  std::vector<double> y, z;
};

// Integers, so that sums are exact in bf16 and f32.
std::vector<double> numbers(const Leaf& leaf, const Mesh& mesh, int rank, double scale) {
  if (leaf.name == "state") return filled(leaf.type.shape, scale).v;
  Tensor all = random_integers(leaf.type.shape, 3, hash_name(leaf.name));
  for (double& x : all.v) x -= 1;
  return place(mesh, leaf.type, all)[size_t(rank)];
}

std::vector<double> read(cuda::Executor& executor, const char* name) {
  const Program& p = executor.plan().programs[0];
  const int buffer = p.outputs.at(name);
  const Type local = local_type(executor.plan().mesh, p.buffers[size_t(buffer)].type);
  std::vector<std::byte> bytes(size_t(local.bytes()));
  cuda::check_cuda(cudaMemcpy(bytes.data(), executor.buffer(0, buffer), bytes.size(), cudaMemcpyDeviceToHost), name);
  return from_bytes(local.dtype, bytes.data(), local.elements());
}

// The outputs of three runs in a row, by rank.
std::vector<Outputs> run_layer(const Graph& g, double scale, bool symmetric) {
  std::vector<Outputs> out(size_t(g.mesh.num_ranks()));
  run_ranks(g.mesh.num_ranks(), [&](Ranks& ranks) {
    const int rank = ranks.rank();
    cuda::Device device(rank % cuda_device_count(), "");
    const Plan plan = plan_memory(g.mesh, {{"layer", &g, {Phase::forward}}},
                                  [&](const Graph& of, const Node& n) { return cuda::workspace_bytes(device, of, n); });
    std::unique_ptr<cuda::Comms> comms = make_host_comms(ranks);
    if (symmetric)
      comms = std::make_unique<cuda::SymmetricComms>(ranks, device, std::move(comms),
                                                     cuda::SymmetricComms::Settings{.blocks = 16});
    comms->connect(cuda::communicator_groups_of(plan, g.mesh.coord(rank)));
    {
      cuda::Watch watch(ranks, *comms, {});
      const cuda::Peers peers{ranks, *comms, watch};
      cuda::Executor executor(plan, g.mesh.coord(rank), device, &peers);
      executor.set_graphs(symmetric);
      for (const Leaf& l : plan.leaves) {
        const std::vector<double> x = numbers(l, g.mesh, rank, scale);
        std::vector<std::byte> bytes(x.size() * size_t(size_of(l.type.dtype)));
        to_bytes(l.type.dtype, x, bytes.data());
        cuda::check_cuda(cudaMemcpy(executor.leaf(l), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "test");
      }
      if (symmetric) executor.make_ready(0, true, 0);  // while no rank waits for another
      ranks.barrier();
      for (int run = 0; run < 3; ++run) executor.run(0, true);
      cuda::check_cuda(cudaStreamSynchronize(device.stream()), "test");
      out[size_t(rank)] = {read(executor, "y"), read(executor, "z")};
      ranks.barrier();
    }
  });
  return out;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

class CudaOverlappedProduct : public OnGpus<1> {};

}  // namespace

TEST_F(CudaOverlappedProduct, equals_the_two_ops) {
  for (const int n : {2, 4})
    for (const bool codes : {false, true})
      for (const double scale : {0.0, 0x1p3})
        for (const bool symmetric : {true, false}) {
          if (scale > 0 && !codes) continue;
          Graph g = layer_between_transfers(make_mesh({1, 1, n, 1}), sizes(n), codes);
          const std::vector<Outputs> want = run_layer(g, scale, symmetric);
          ASSERT_TRUE(overlap_products(g));
          const std::vector<Outputs> got = run_layer(g, scale, symmetric);
          for (int r = 0; r < n; ++r) {
            const std::string who = fmt::format("rank {} of {}, codes {}, scale {}", r, n, codes, scale);
            // Products of codes may round sums. Integers of bf16 are exact.
            EXPECT_LE(difference(got[size_t(r)].y, want[size_t(r)].y), codes ? 1 : 0) << who;
            EXPECT_LE(difference(got[size_t(r)].z, want[size_t(r)].z), codes ? 2 : 0) << who;
          }
        }
}

}  // namespace megalith
