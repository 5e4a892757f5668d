#include "exec/cuda/products/grouped_hopper.h"

#include "exec/cuda/hopper/tensor_map.h"
#include "exec/cuda/products/grouped_load.cuh"
#include "exec/cuda/products/grouped_sums.cuh"

namespace megalith::cuda {

namespace grouped {

namespace {

// Registers of a thread. Of 64 Ki in total, multiplying threads take more than their share.
constexpr int kSumRegisters = 232, kLoadRegisters = 40;

template <Form kForm>
__global__ void __cluster_dims__(2) __launch_bounds__(kThreads, 1)
    grouped_kernel(const __grid_constant__ Launch launch) {
  extern __shared__ __align__(1024) std::byte memory[];
  Shared<OfValues>& at = *reinterpret_cast<Shared<OfValues>*>(memory);
  const int rank = cluster_rank();
  if (threadIdx.x == 0) make_barriers(at);
  cluster_barrier();
  if (threadIdx.x < 128) {
    give_registers<kLoadRegisters>();
    if (threadIdx.x == 0) Loads<OfValues, kForm>{launch, at, rank}.run();
    if (threadIdx.x == 32 && rank == 0) deal(launch, at);
    __syncwarp();
  } else {
    take_registers<kSumRegisters>();
    Sums<kForm>{launch, at, int(threadIdx.x) / 128 - 1}.run();
  }
  cluster_barrier();  // a block must keep its shared memory until the other block has stopped writing to it
}

template <Form kForm>
void run(const Launch& launch, int sms, cudaStream_t stream) {
  check_cuda(cudaFuncSetAttribute(grouped_kernel<kForm>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  sizeof(Shared<OfValues>)),
             "[grouped_product] shared memory");
  check_cuda(cudaMemsetAsync(launch.ticket, 0, sizeof(int), stream), "[grouped_product] ticket");
  grouped_kernel<kForm><<<sms / 2 * 2, kThreads, sizeof(Shared<OfValues>), stream>>>(launch);
  check_launch("[grouped_product] launch");
}

CUtensorMap map_of(const void* at, DType dtype, i64 columns, i64 rows, i64 layers) {
  const i64 row = columns * size_of(dtype), sizes[] = {columns, rows, layers}, strides[] = {row, row * rows};
  return tensor_map("grouped_product", at, dtype, sizes, strides, 64);
}

Launch launch_of(const GroupedLaunch& l, const GroupedBuffers& x, int* ticket) {
  const DType t = DType::bf16;
  const i64 columns = l.sums ? l.in : l.out;
  const Tiling tiling{x.ends, int(l.experts), int(l.bound), l.sums ? blocks_for(l.out, kTileRows) : 0,
                      blocks_for(columns, OfValues::kColumns)};
  return {map_of(x.a, t, l.sums ? l.out : l.in, l.bound, 1),
          l.sums         ? map_of(x.b, t, l.in, l.bound, 1)
          : l.transposed ? map_of(x.b, t, l.out, l.in, l.experts)
                         : map_of(x.b, t, l.in, l.out, l.experts),
          l.sums ? map_of(x.y, DType::f32, l.in, l.out, l.experts) : map_of(x.y, t, l.out, l.bound, 1),
          tiling,
          l.sums ? 0 : int(l.in),
          int(l.sums ? l.out : l.bound),
          int(columns),
          x.y,
          x.add,
          ticket};
}

}  // namespace

}  // namespace grouped

void launch_hopper(const GroupedLaunch& l, const GroupedBuffers& x, int* ticket, int sms, cudaStream_t stream) {
  using namespace grouped;
  const Launch launch = launch_of(l, x, ticket);
  if (l.sums)
    run<Form::weight_grad>(launch, sms, stream);
  else if (l.transposed)
    run<Form::data_grad>(launch, sms, stream);
  else
    run<Form::forward>(launch, sms, stream);
}

}  // namespace megalith::cuda
