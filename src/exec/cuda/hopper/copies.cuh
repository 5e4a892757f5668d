// Hopper's own instructions as functions: barriers in shared memory on which copies complete, tiles of the copy
// engine (TMA), and registers of a warpgroup. They are compiled for compute capability 9.0 only.
//
// A tile in shared memory consists of boxes of 64 bf16 columns (128 bytes). Each box starts at a multiple of 1024
// bytes. Row i of a box is at `128 i`. Its 16-byte pieces are permuted by `i % 8` ("128-byte swizzle"). The copy engine
// permutes when it writes a box, and the tensor cores undo it when they read.
#pragma once
#include <cuda.h>

#include "exec/cuda/launch.cuh"

namespace megalith::cuda::hopper {

__device__ inline unsigned shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

// Barriers. A phase ends when `count` arrivals and all announced bytes are complete. Phases have parities 0, 1, 0,
// ...
__device__ inline void make_barrier(u64* b, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(count) : "memory");
}
__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void arrive(u64* b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}
__device__ inline void announce(u64* b, int bytes) {  // and arrive
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes)
               : "memory");
}
__device__ inline void wait(u64* b, int parity) {
  asm volatile(
      "{.reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;}\n" ::"r"(shared_address(b)),
      "r"(parity)
      : "memory");
}

// A ring of stages: the current stage, and the parity of its current phase.
template <int kStages>
struct Turn {
  int stage = 0, parity = 0;
  __device__ void next() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
  __device__ Turn before() const { return stage == 0 ? Turn{kStages - 1, parity ^ 1} : Turn{stage - 1, parity}; }
};

// Loads the box of `map` at (column, row) to shared memory. Rows and columns outside the tensor are zeros.
__device__ inline void load_box(void* to, const CUtensorMap& map, int column, int row, u64* done) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(&map), "r"(column), "r"(row), "r"(shared_address(done))
      : "memory");
}
// The same for a tensor with three dimensions. `layer` is the slowest.
__device__ inline void load_box(void* to, const CUtensorMap& map, int column, int row, int layer, u64* done) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(column), "r"(row), "r"(layer), "r"(shared_address(done))
      : "memory");
}
__device__ inline void load_bytes(void* to, const void* from, int bytes, u64* done) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(done))
               : "memory");
}

// Copies from shared memory; the f32 form adds to memory instead. The writes of a thread form groups. A group counts as
// read, or as complete and visible to threads that this thread notifies, after all earlier groups.
__device__ inline void store_bytes(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ inline void add_floats(float* to, const float* from, int bytes) {
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
      "r"(shared_address(from)), "r"(bytes)
      : "memory");
}
// Stores a box to (column, row, layer) of `map`'s tensor. Elements outside the tensor are skipped.
__device__ inline void store_box(const CUtensorMap& map, const void* from, int column, int row, int layer) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
               "r"(column), "r"(row), "r"(layer), "r"(shared_address(from))
               : "memory");
}
__device__ inline void add_box(const CUtensorMap& map, const void* from, int column, int row, int layer) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
      "r"(column), "r"(row), "r"(layer), "r"(shared_address(from))
      : "memory");
}
__device__ inline void commit_writes() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until at most kLeft of the last groups are unread.
template <int kLeft = 0>
__device__ inline void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
}
__device__ inline void wait_until_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// Orders this thread's earlier ordinary accesses to shared, or global, memory before later accesses of copies and
// products.
__device__ inline void order_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void order_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

// Reads a counter in global memory by which blocks signal that they are done.
__device__ inline int seen(const int* p) {
  int x;
  asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}
__device__ inline void tell(int* p, int x) {
  asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(x) : "memory");
}

// Sets the number of the warpgroup's registers from here on.
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace megalith::cuda::hopper
