// The norms' gradient on Hopper for bf16 rows of 520 to 8192 elements. It computes what norm_grad.cu does with fewer
// instructions an element, which limit such rows more than memory does. The copy engine (TMA) loads rows. A thread
// has two rows at once, or two packs of a wide row. The sums of both rows share shuffles and a barrier. One
// persistent block runs on each multiprocessor. Its groups of warps loop over the rows, kRows neighbours at a time.
// Each group has a ring of stages in shared memory. The block adds the sums of its groups before it writes them.
#include "exec/cuda/hopper/copies.cuh"
#include "exec/cuda/kernels/norm/norm_grad_hopper_rows.cuh"
#include "exec/cuda/kernels/norm/norm_grad_hopper_sums.cuh"
#include "exec/cuda/kernels/norm/norm_grad_rows.cuh"
#include "exec/cuda/kernels/norm/norm_grad_sums.cuh"

namespace megalith::cuda {

namespace {

// A group's stages, each kRows rows of all inputs.
template <int kInputs, int kRows>
struct Ring {
  const HopperGradArgs& a;
  u64* full;  // a barrier for each stage
  unsigned char* memory;

  static __device__ int stage_bytes(int h) { return kInputs * kRows * h * int(sizeof(__nv_bfloat16)); }
  __device__ const __nv_bfloat16* stage(int s) const {
    return reinterpret_cast<const __nv_bfloat16*>(memory + s * stage_bytes(a.h));
  }
  __device__ void fetch(int s, int row) const {
    const int bytes = kRows * a.h * int(sizeof(__nv_bfloat16));
    const i64 at = i64(row) * a.h * i64(sizeof(__nv_bfloat16));
    const void* from[] = {a.b.dy, a.b.x, a.b.dres};
    hopper::announce(full + s, kInputs * bytes);
#pragma unroll
    for (int i = 0; i < kInputs; ++i)
      hopper::load_bytes(memory + s * stage_bytes(a.h) + i * bytes, static_cast<const unsigned char*>(from[i]) + at,
                         bytes, full + s);
  }
};

// The sum over the groups of [groups][vectors][h], in order, to the block's part of [vectors][blocks][h].
__device__ inline void add_groups(const float* sums, int groups, int vectors, int h, float* to) {
  const int all = vectors * h;
  for (int i = 4 * threadIdx.x; i < all; i += 4 * blockDim.x) {
    float4 sum = *reinterpret_cast<const float4*>(sums + i);
    for (int g = 1; g < groups; ++g) {
      const float4 more = *reinterpret_cast<const float4*>(sums + (g * all + i));
      sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    const int vector = i / h;
    *reinterpret_cast<float4*>(to + (i64(vector) * gridDim.x + blockIdx.x) * h + (i - vector * h)) = sum;
  }
}

template <int kPacks, int kRows, class Form>
__global__ void __launch_bounds__(NormRing::kThreads, 1) hopper_grad_kernel(const __grid_constant__ HopperGradArgs a) {
  using Rows = HopperGradRows<kPacks, kRows, Form>;
  constexpr int kDepth = NormRing::kDepth, kGroups = NormRing::kMostGroups;
  using Sums = GroupSums<Rows::kSums, NormRing::most_warps(kPacks)>;
  using Stages = Ring<Rows::kInputs, kRows>;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ u64 full[kGroups][kDepth];
  __shared__ typename Sums::Shared parts[kGroups];
  const int group = threadIdx.x / a.lanes, thread = threadIdx.x - group * a.lanes, groups = blockDim.x / a.lanes;
  const Stages ring{a, full[group], memory + group * kDepth * Stages::stage_bytes(a.h)};
  const int first = (blockIdx.x * groups + group) * kRows, step = gridDim.x * groups * kRows;
  if (thread == 0) {
    for (int s = 0; s < kDepth; ++s) hopper::make_barrier(ring.full + s, 1);
    hopper::publish_barriers();
    for (int s = 0; s < kDepth && first + s * step < a.rows; ++s) ring.fetch(s, first + s * step);
  }
  Rows rows(a, thread);
  rows.fetch_stats(first);
  Sums sum(parts[group], 1 + group, a.lanes, thread);  // barrier 0 is the block's
  __syncthreads();
  hopper::Turn<kDepth> at;
  for (int row = first; row < a.rows; row += step, at.next()) {
    rows.take_stats();
    rows.fetch_stats(row + step);
    hopper::wait(ring.full + at.stage, at.parity);
    float sums[Rows::kSums] = {};
    rows.add(ring.stage(at.stage), sums);
    sum(sums);
    // All threads of the group are now done with the previous stage, because the sums have a barrier.
    const int ahead = row + (kDepth - 1) * step;
    if (thread == 0 && row != first && ahead < a.rows) ring.fetch(at.before().stage, ahead);
    rows.store(ring.stage(at.stage), row, sums);
    // Orders this thread's ordinary reads of the stage before the copy engine's writes to it.
    hopper::order_shared();
  }
  rows.put_amax();
  // Blocks of the next kernel may start as blocks end. That kernel waits for all writes of this one.
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  __syncthreads();
  float* mine = reinterpret_cast<float*>(memory);
  rows.put_sums(mine + group * (Rows::kVectors * a.h));
  __syncthreads();
  add_groups(mine, groups, Rows::kVectors, a.h, a.b.workspace);
}

// f(kernel) with the launch's form.
template <class F>
void with_kernel(const NormGradLaunch& l, F&& f) {
  const auto constant = [](bool value, auto&& g) {
    value ? g(std::bool_constant<true>{}) : g(std::bool_constant<false>{});
  };
  constant(l.shape.centred, [&](auto centred) {
    constant(l.form.residual, [&](auto residual) {
      constant(l.form.with_output, [&](auto with_output) {
        constant(l.form.bias, [&](auto bias) {
          constant(l.form.gives_amax, [&](auto amax) {
            using Form = GradForm<centred(), residual(), with_output(), bias(), amax() && !centred()>;
            l.ring.packs == 1 ? f(hopper_grad_kernel<1, 2, Form>) : f(hopper_grad_kernel<2, 1, Form>);
          });
        });
      });
    });
  });
}

// Launches before the blocks are done, and waits for them.
__global__ void __launch_bounds__(1024) add_blocks_kernel(const float* sums, int blocks, i64 h, SumsTo all) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  add_blocks(sums, blocks, h, all);
}

}  // namespace

void launch_hopper(const NormGradLaunch& l, const NormGradBuffers& b, cudaStream_t stream) {
  const NormShape& s = l.shape;
  if (b.amax) check_cuda(cudaMemsetAsync(b.amax, 0, sizeof(float), stream), "[rms_norm_grad] amax");
  const HopperGradArgs args{b, int(s.rows), int(s.h), l.ring.lanes, 1 / float(s.h)};
  with_kernel(l, [&](auto* kernel) {
    const int shared = l.ring.shared(s.h);
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
               "[rms_norm_grad, layer_norm_grad] shared memory");
    kernel<<<l.blocks, l.ring.lanes * l.ring.groups, size_t(shared), stream>>>(args);
    check_launch("[rms_norm_grad, layer_norm_grad] launch");
  });
  // Launched early, so the launch latency is over when the blocks are done.
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(blocks_for(s.h, 32)), unsigned(l.sums())), config.blockDim = dim3(32, 32);
  config.stream = stream, config.attrs = &early, config.numAttrs = 1;
  const float* sums = b.workspace;
  check_cuda(cudaLaunchKernelEx(&config, add_blocks_kernel, sums, l.blocks, s.h, sums_to(l, b)),
             "[rms_norm_grad, layer_norm_grad] launch");
}

}  // namespace megalith::cuda
