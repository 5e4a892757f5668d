// The kernel of the sums of attention_hopper.h, and how its blocks share the tiles of keys.
#include <algorithm>

#include "exec/cuda/kernels/attention/attention_hopper_sums.cuh"

namespace megalith::cuda::hopper {

namespace {

template <int D, class Out, bool kPlain>
__global__ void __launch_bounds__(kThreads, 1)
    sums_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                const __grid_constant__ HopperGradMaps maps, const __grid_constant__ Scratch scratch,
                const __grid_constant__ Work work) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared<D>& at = *reinterpret_cast<Shared<D>*>(memory);
  if (threadIdx.x == 0) at.make_barriers();
  __syncthreads();
  const Sums<D, Out, kPlain> sums{z, x, maps, scratch, work, at};
  // So the compiler knows that all threads of a warp have the same value.
  const int group = __shfl_sync(0xffffffffu, int(threadIdx.x) / 128, 0);
  if (group == 0) {
    give_registers<kRegistersToMove<D>>();
    const int warp = int(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0 && warp <= kAdders<D>) warp == 0 ? sums.load() : sums.add(warp - 1);
  } else {
    take_registers<kRegistersToMultiply<D>>();
    sums.multiply(group - 1);
  }
}

int multiprocessors() {
  int device = 0, n = 0;
  check_cuda(cudaGetDevice(&device), "[attention_grad] device");
  check_cuda(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device), "[attention_grad] multiprocessors");
  return n;
}

// With one head, a set has half more groups than needed to give every multiprocessor a tile. Otherwise a group's
// second run, which starts during the last steps of the first, would wait for its turns. Sets also have nearly equal
// sizes. A small last set, with the longest loops first, would occupy only few multiprocessors.
Work work_of(const AttentionSizes& z, const Scratch& scratch, int sms) {
  const int tiles = blocks_for(z.t, kKeys), each = z.b * z.g;
  const int run = std::min(tiles, std::max(z.r == 1 ? 4 : 8, sms / each));
  const int enough = (sms + run - 1) / run;
  const int sets = std::max(1, each / (enough + enough / 2));
  const int groups = z.r == 1 ? (each + sets - 1) / sets : std::min(each, enough);
  const int pieces = blocks_for(z.r * scratch.tiles * (z.d / 64), kPieceBoxes);
  return {tiles, each, groups, run, pieces, groups * tiles, groups * pieces, blocks_for(each, groups)};
}

template <int D, class Out, bool kPlain>
void launch_sized(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                  const Scratch& scratch, cudaStream_t stream) {
  static_assert(sizeof(Shared<D>) <= 227 * 1024, "a block has no more");
  const int sms = multiprocessors(), bytes = int(sizeof(Shared<D>));
  const Work work = work_of(z, scratch, sms);
  check_cuda(cudaFuncSetAttribute(sums_kernel<D, Out, kPlain>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "[attention_grad] shared memory");
  sums_kernel<D, Out, kPlain>
      <<<std::min(sms, work.tiles * work.each), kThreads, size_t(bytes), stream>>>(z, x, maps, scratch, work);
}

template <int D>
void launch_typed(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                  const Scratch& scratch, cudaStream_t stream) {
  if (z.wide)
    launch_sized<D, float, false>(z, x, maps, scratch, stream);
  else if (is_plain(z))
    launch_sized<D, __nv_bfloat16, true>(z, x, maps, scratch, stream);
  else
    launch_sized<D, __nv_bfloat16, false>(z, x, maps, scratch, stream);
}

}  // namespace

void launch_sums(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                 const Scratch& scratch, cudaStream_t stream) {
  z.d == 64 ? launch_typed<64>(z, x, maps, scratch, stream) : launch_typed<128>(z, x, maps, scratch, stream);
  check_launch("[attention_grad] sums");
}

}  // namespace megalith::cuda::hopper
