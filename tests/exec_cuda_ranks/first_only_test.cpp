// Weights gathered by a step's first micro-batch alone, on a lane that forks at the head of its program.
#include "exec/cuda/executor.h"
#include "ops/scale.h"
#include "tests/exec_cuda_ranks/gpus.h"
#include "tests/exec_cuda_ranks/host_comms.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {

namespace {

constexpr i64 kSize = 1 << 16;  // of a rank's part

// part -> whole, in the first micro-batch; behind it something that all of them do.
Plan plan_of(Graph& g, cuda::Device& device) {
  g.mesh = make_mesh({2, 1, 1, 1});
  Builder b(g);
  Type whole_type{DType::f32, {2 * kSize}, whole(1)}, part = whole_type;
  whole_type.layout.copy.insert(groups::data), part.layout.dims[0].add({groups::data});
  const Value moved =
      b.move_into(b.leaf({"part", part}), {groups::data}, kCopy, b.leaf({"whole", whole_type}), 2, true);
  b.wait(moved);
  g.outputs["y"] = b.add1(Scale{1, 2}, {b.leaf({"x", {DType::f32, {2 * kSize}, whole(1)}})});
  return plan_memory(g.mesh, {{"p", &g, {Phase::forward}}},
                     [&](const Graph& of, const Node& n) { return cuda::workspace_bytes(device, of, n); });
}

// What lies in `whole` after a run with `value` + rank in each rank's part: first and last element.
std::pair<float, float> gathered(cuda::Executor& executor, int rank, float value, bool first) {
  const std::vector<float> part(kSize, value + float(rank));
  std::vector<float> all(2 * kSize);
  const Plan& plan = executor.plan();
  cudaMemcpy(executor.leaf(plan.leaf("part")), part.data(), kSize * 4, cudaMemcpyHostToDevice);
  executor.run(0, first);
  cudaDeviceSynchronize();
  cudaMemcpy(all.data(), executor.leaf(plan.leaf("whole")), 2 * kSize * 4, cudaMemcpyDeviceToHost);
  return {all.front(), all.back()};
}

void expect_first_only(cuda::Executor& executor, int rank) {
  using Ends = std::pair<float, float>;
  for (const float v : {1.0f, 10.0f}) {
    EXPECT_EQ(gathered(executor, rank, v, true), Ends(v, v + 1));
    EXPECT_EQ(gathered(executor, rank, v + 1, false), Ends(v, v + 1));
    EXPECT_EQ(gathered(executor, rank, v + 2, true), Ends(v + 2, v + 3));
  }
}

void run_on(Ranks& ranks, cuda::Device& device, cuda::Comms& comms, bool with_graphs) {
  Graph g;
  const Plan plan = plan_of(g, device);
  const Coord coord = g.mesh.coord(ranks.rank());
  comms.connect(cuda::communicator_groups_of(plan, coord));
  cuda::Watch watch(ranks, comms, {});
  const cuda::Peers peers{ranks, comms, watch};
  cuda::Executor executor(plan, coord, device, &peers);
  executor.set_graphs(with_graphs);
  ranks.barrier();
  expect_first_only(executor, ranks.rank());
  ranks.barrier();
}

class CudaFirstOnly : public OnGpus<1> {};
class CudaFirstOnlyOnTwo : public OnGpus<2> {};

}  // namespace

TEST_F(CudaFirstOnly, through_the_host) {
  harness::run_ranks(2, [&](Ranks& ranks) {
    cuda::Device device(0, "");
    const auto comms = harness::make_host_comms(ranks);
    run_on(ranks, device, *comms, false);
  });
}

TEST_F(CudaFirstOnlyOnTwo, by_nccl_from_graphs) {
  for (const bool graphs : {true, false})
    harness::run_ranks(2, [&](Ranks& ranks) {
      cuda::Device device(ranks.rank(), "");
      const auto comms = cuda::make_comms(ranks, device);
      run_on(ranks, device, *comms, graphs);
    });
}

}  // namespace megalith
