// Clusters: blocks that run at the same time on neighbouring multiprocessors and can access each other's shared
// memory.
#pragma once
#include "exec/cuda/hopper/copies.cuh"

namespace megalith::cuda::hopper {

// This block's rank in its cluster.
__device__ inline int cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Synchronizes all threads of all blocks of the cluster.
__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Arrives at block `rank`'s instance of the barrier b.
__device__ inline void arrive(u64* b, int rank) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(shared_address(b)),
      "r"(rank)
      : "memory");
}
// Announces 32 bytes to block `rank`'s barrier, arrives there, and writes the bytes to `to` in that block.
__device__ inline void send(void* to, const int4 (&x)[2], u64* b, int rank) {
  asm volatile(
      "{.reg .b32 there, done; mapa.shared::cluster.u32 there, %0, %2; mapa.shared::cluster.u32 done, %1, %2;\n"
      "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [done], 32;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [there], {%3, %4, %5, %6}, [done];\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [there + 16], {%7, %8, %9, %10}, [done];}" ::"r"(
          shared_address(to)),
      "r"(shared_address(b)), "r"(rank), "r"(x[0].x), "r"(x[0].y), "r"(x[0].z), "r"(x[0].w), "r"(x[1].x), "r"(x[1].y),
      "r"(x[1].z), "r"(x[1].w)
      : "memory");
}
// Loads a box to the same address in each block whose bit is set in `blocks`. Each block's instance of the barrier
// gets its bytes.
__device__ inline void load_box_to_all(void* to, const CUtensorMap& map, int column, int row, int layer, u64* done,
                                       int blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(to)),
      "l"(&map), "r"(column), "r"(row), "r"(layer), "r"(shared_address(done)), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}

}  // namespace megalith::cuda::hopper
