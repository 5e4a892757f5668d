// Grouped products of fp8 codes on Hopper. The blocks are as in grouped_hopper.cu.
#include "exec/cuda/hopper/tensor_map.h"
#include "exec/cuda/kernels/experts/code_types.cuh"
#include "exec/cuda/products/grouped_code_sums.cuh"
#include "exec/cuda/products/grouped_hopper.h"
#include "exec/cuda/products/grouped_load.cuh"

namespace megalith::cuda {

namespace grouped {

namespace {

constexpr int kSumRegisters = 232, kLoadRegisters = 40;  // as in grouped_hopper.cu

template <Form kForm, class A, class B>
__global__ void __cluster_dims__(2) __launch_bounds__(kThreads, 1)
    grouped_codes_kernel(const __grid_constant__ Launch launch) {
  extern __shared__ __align__(1024) std::byte memory[];
  Shared<OfCodes>& at = *reinterpret_cast<Shared<OfCodes>*>(memory);
  const int rank = cluster_rank();
  if (threadIdx.x == 0) make_barriers(at);
  cluster_barrier();
  if (threadIdx.x < 128) {
    give_registers<kLoadRegisters>();
    if (threadIdx.x == 0) Loads<OfCodes, kForm>{launch, at, rank}.run();
    if (threadIdx.x == 32 && rank == 0) deal(launch, at);
    __syncwarp();
  } else {
    take_registers<kSumRegisters>();
    CodeSums<kForm, A, B>{launch, at, int(threadIdx.x) / 128 - 1}.run();
  }
  cluster_barrier();  // a block must keep its shared memory until the other block has stopped writing to it
}

template <Form kForm, class A, class B>
void run(const Launch& launch, int sms, cudaStream_t stream) {
  const auto kernel = grouped_codes_kernel<kForm, A, B>;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared<OfCodes>)),
             "[quantized_grouped_product] shared memory");
  check_cuda(cudaMemsetAsync(launch.ticket, 0, sizeof(int), stream), "[quantized_grouped_product] ticket");
  kernel<<<sms / 2 * 2, kThreads, sizeof(Shared<OfCodes>), stream>>>(launch);
  check_launch("[quantized_grouped_product] launch");
}

CUtensorMap map_of(const void* at, DType dtype, i64 columns, i64 rows, i64 layers) {
  const i64 row = columns * size_of(dtype), sizes[] = {columns, rows, layers}, strides[] = {row, row * rows};
  return tensor_map("quantized_grouped_product", at, dtype, sizes, strides, 64);
}

Launch launch_of(const GroupedLaunch& l, const GroupedBuffers& x, int* ticket) {
  const i64 columns = l.sums ? l.in : l.out;
  const Tiling tiling{x.ends, int(l.experts), int(l.bound), l.sums ? blocks_for(l.out, kTileRows) : 0,
                      blocks_for(columns, OfCodes::kColumns)};
  return {l.sums ? map_of(x.a, l.from, l.bound, l.out, 1) : map_of(x.a, l.from, l.in, l.bound, 1),
          l.sums ? map_of(x.b, l.second, l.bound, l.in, 1) : map_of(x.b, l.second, l.in, l.out, l.experts),
          l.sums ? map_of(x.y, DType::f32, l.in, l.out, l.experts) : map_of(x.y, DType::bf16, l.out, l.bound, 1),
          tiling,
          l.sums ? 0 : int(l.in),
          int(l.sums ? l.out : l.bound),
          int(columns),
          x.y,
          x.add,
          ticket,
          x.a_scale,
          x.b_scale};
}

}  // namespace

}  // namespace grouped

void launch_hopper_codes(const GroupedLaunch& l, const GroupedBuffers& x, int* ticket, int sms, cudaStream_t stream) {
  using namespace grouped;
  const Launch launch = launch_of(l, x, ticket);
  dispatch_codes(l.from, [&]<class A>() {
    dispatch_codes(l.second, [&]<class B>() {
      if (l.sums)
        run<Form::weight_grad, A, B>(launch, sms, stream);
      else
        run<Form::forward, A, B>(launch, sms, stream);
    });
  });
}

}  // namespace megalith::cuda
