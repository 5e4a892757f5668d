#include "exec/cuda/kernels/attention/sequence_ends.h"

#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 128, kBlocks = 16;  // of a sample and result

__global__ void ends_kernel(SequenceEnds n, const i32* lengths, i32* to) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n.samples) to[i] = n.queries, to[n.samples + i] = min(max(lengths[i], 0), n.keys);
}

struct Results {
  SequenceRows of[3];
};

// A warp clears one row at a time.
__global__ void clear_kernel(const __grid_constant__ Results results, const i32* lengths) {
  const SequenceRows& r = results.of[blockIdx.z];
  const int sample = int(blockIdx.y), length = lengths[sample], warp = int(threadIdx.x) / 32;
  const i64 first = r.from_end ? max(length, 0) : length > 0 ? r.positions : 0;
  for (i64 p = first + blockIdx.x * (kThreads / 32) + warp; p < r.positions; p += kBlocks * (kThreads / 32)) {
    float* row = static_cast<float*>(r.at) + p * r.step + sample * r.sample_step;
    for (i64 i = threadIdx.x % 32; i < r.width; i += 32) row[i] = r.value;
  }
}

}  // namespace

void launch(const SequenceEnds& n, const i32* lengths, i32* to, cudaStream_t stream) {
  ends_kernel<<<blocks_for(n.samples, kThreads), kThreads, 0, stream>>>(n, lengths, to);
  check_launch("[attention] ends of sequences");
}

void clear_rows(int samples, const std::array<SequenceRows, 3>& rows, const i32* lengths, cudaStream_t stream) {
  const Results results{{rows[0], rows[1], rows[2]}};
  clear_kernel<<<dim3(kBlocks, unsigned(samples), 3), kThreads, 0, stream>>>(results, lengths);
  check_launch("[attention] rows behind sequences");
}

}  // namespace megalith::cuda
