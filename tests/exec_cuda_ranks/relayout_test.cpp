// Relayouts on GPUs against the harness. On one GPU the ranks' messages go through the host, so that any mesh can be
// tried; on several they go by NCCL, from graphs.
#include "exec/cuda/backend.h"
#include "tests/exec_cuda_ranks/gpus.h"
#include "tests/exec_cuda_ranks/host_comms.h"
#include "tests/exec_cuda_ranks/relayout_batch.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {

namespace {

using namespace harness;

cuda::Device& first_gpu() {
  static cuda::Device device(0, "");
  return device;
}

void expect_through_host(const Mesh& mesh, std::vector<RelayoutCase> cases) {
  const RelayoutBatch batch(mesh, std::move(cases), first_gpu());
  run_ranks(mesh.num_ranks(), [&](Ranks& ranks) {
    const int rank = ranks.rank();
    cuda::Device device(0, "");
    const auto comms = make_host_comms(ranks);
    comms->connect(cuda::communicator_groups_of(batch.plan(), mesh.coord(rank)));
    cuda::Watch watch(ranks, *comms, {});
    const cuda::Peers peers{ranks, *comms, watch};
    cuda::Executor executor(batch.plan(), mesh.coord(rank), device, &peers);
    executor.set_graphs(false);
    batch.fill(executor, rank);
    for (int run = 0; run < 2; ++run) executor.run(0, true);
    batch.expect(executor, rank);
  });
}

void expect_by_nccl(const Mesh& mesh, std::vector<RelayoutCase> cases) {
  const RelayoutBatch batch(mesh, std::move(cases), first_gpu());
  run_ranks(mesh.num_ranks(), [&](Ranks& ranks) {
    const int rank = ranks.rank();
    cuda::Device device(rank, "");
    const auto comms = cuda::make_comms(ranks, device);
    comms->connect(cuda::communicator_groups_of(batch.plan(), mesh.coord(rank)));
    cuda::Watch watch(ranks, *comms, {});
    const cuda::Peers peers{ranks, *comms, watch};
    cuda::Executor executor(batch.plan(), mesh.coord(rank), device, &peers);
    batch.fill(executor, rank);
    ranks.barrier();  // memory is taken on all GPUs before one of them waits for another
    for (const bool graphs : {true, false}) {
      executor.set_graphs(graphs);
      for (int run = 0; run < 3; ++run) executor.run(0, run == 0);
      batch.expect(executor, rank);
    }
    EXPECT_EQ(executor.time_instructions(0).size(), batch.plan().programs[0].instructions.size());
    batch.expect(executor, rank);
    ranks.barrier();
  });
}

const std::vector<DType> kAll = {DType::f32, DType::bf16, DType::f64, DType::i32}, kFloats = {DType::f32, DType::bf16};

class CudaRelayout : public OnGpus<1> {};
class CudaRelayoutOnTwo : public OnGpus<2> {};
class CudaRelayoutOnFour : public OnGpus<4> {};

}  // namespace

TEST_F(CudaRelayout, every_row_through_the_host) {
  for (const Mesh& mesh : {make_mesh({1, 1, 2, 1}), make_mesh({1, 2, 1, 2}), make_mesh({2, 1, 2, 2})})
    for (const DType dtype : kAll) expect_through_host(mesh, every_row(dtype));
}

TEST_F(CudaRelayout, zigzag_through_the_host) {
  for (const DType dtype : kFloats) expect_through_host(make_mesh({1, 4, 1, 1}), zigzags(dtype));
}

TEST_F(CudaRelayout, rotations_through_the_host) {
  expect_through_host(make_mesh({1, 3, 1, 1}), rotations(DType::f32, 3));
}

TEST_F(CudaRelayout, odd_sizes_through_the_host) {
  for (const DType dtype : kFloats) expect_through_host(make_mesh({3, 1, 1, 1}), odd_sums(dtype));
}

TEST_F(CudaRelayoutOnTwo, every_row_by_nccl) {
  for (const DType dtype : kAll) expect_by_nccl(make_mesh({1, 1, 2, 1}), every_row(dtype));
}

TEST_F(CudaRelayoutOnTwo, zigzag_by_nccl) {
  for (const DType dtype : kFloats) expect_by_nccl(make_mesh({1, 2, 1, 1}), zigzags(dtype));
}

TEST_F(CudaRelayoutOnTwo, rotations_by_nccl) {
  for (const DType dtype : kFloats) expect_by_nccl(make_mesh({1, 2, 1, 1}), rotations(dtype, 2));
}

TEST_F(CudaRelayoutOnTwo, odd_sizes_by_nccl) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64})
    expect_by_nccl(make_mesh({2, 1, 1, 1}), odd_sums(dtype));
}

TEST_F(CudaRelayoutOnFour, four_ranks_by_nccl) {
  for (const Mesh& mesh : {make_mesh({1, 2, 1, 2}), make_mesh({2, 1, 2, 1}), make_mesh({1, 1, 2, 2})})
    for (const DType dtype : kFloats) expect_by_nccl(mesh, every_row(dtype));
  expect_by_nccl(make_mesh({1, 4, 1, 1}), zigzags(DType::bf16));
  expect_by_nccl(make_mesh({1, 4, 1, 1}), rotations(DType::bf16, 4));
}

TEST_F(CudaRelayout, alone_it_is_an_error) {
  const Mesh mesh = make_mesh({2, 1, 1, 1});
  const RelayoutBatch batch(mesh, odd_sums(DType::f32), first_gpu());
  cuda::Device device(0, "");
  cuda::Executor executor(batch.plan(), Coord{}, device);
  executor.set_graphs(false);
  EXPECT_THROW(executor.run(0, true), Error);
}

}  // namespace megalith
