// Hopper's own instructions, as functions: barriers in shared memory that copies complete on, the copy engine's tiles,
// and products of a warpgroup (4 warps, 64 rows: a warp has 16 of them). Compiled for compute capability 9.0 alone.
//
// A tile in shared memory is made of boxes of 64 bf16 columns (128 bytes), each starting at a multiple of 1024 bytes;
// row i of a box is at 128 i, and its 16-byte pieces are permuted by i % 8 ("128-byte swizzle"), which the copy engine
// does when it writes a box and the tensor cores undo when they read it.
#pragma once
#include <cuda.h>

#include "exec/cuda/launch.cuh"

namespace megalith::cuda::hopper {

__device__ inline unsigned shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

// Barriers. Each phase ends when `count` arrivals and all announced bytes are there; phases have parities 0, 1, 0, ...
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

// A ring of stages: which one, and the parity of its present phase.
template <int kStages>
struct Turn {
  int stage = 0, parity = 0;
  __device__ void next() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
  __device__ Turn before() const { return stage == 0 ? Turn{kStages - 1, parity ^ 1} : Turn{stage - 1, parity}; }
};

// The box of `map` at (column, row) to shared memory; rows and columns beyond the tensor are zeros.
__device__ inline void load_box(void* to, const CUtensorMap& map, int column, int row, u64* done) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(&map), "r"(column), "r"(row), "r"(shared_address(done))
      : "memory");
}
__device__ inline void load_bytes(void* to, const void* from, int bytes, u64* done) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(done))
               : "memory");
}

// From shared memory, in place of what is there or (f32) added to it. A thread's writes make groups; one has been read,
// or is done and seen by whom this thread tells, when all groups have been.
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
__device__ inline void commit_writes() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ inline void wait_until_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ inline void wait_until_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// What this thread wrote or saw by ordinary accesses to shared, or global, memory comes before what copies and products
// access later.
__device__ inline void order_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void order_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

// A number in global memory by which blocks tell each other that they are done.
__device__ inline int seen(const int* p) {
  int x;
  asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}
__device__ inline void tell(int* p, int x) {
  asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(x) : "memory");
}

// A warpgroup's share of the block's registers, from here on.
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// A factor in shared memory, as the tensor cores are told of it: 8 rows of a box are 1024 bytes; `across` are the bytes
// from a box to the one with the next 64 columns, used where a product's rows of sums (N) lie along the columns.
__device__ inline u64 factor(unsigned address, int across) {
  return u64(address & 0x3ffff) >> 4 | u64(across >> 4) << 16 | u64(1024 >> 4) << 32 | u64(1) << 62;
}

__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most kLeft of the committed groups are unfinished.
template <int kLeft>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
// Keeps the compiler from moving accesses to registers that products write or read across this point.
template <int N>
__device__ inline void pin(float (&c)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(c[i])::"memory");
}
template <int N>
__device__ inline void pin(unsigned (&a)[N][4]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int k = 0; k < 4; ++k) asm volatile("" : "+r"(a[i][k])::"memory");
}

// c (+)= a b for 16 of the summed index; `a` in shared memory with that index along the columns, or in registers. b's
// lies along its columns, or along its rows if kDown. c, of 64 x N: element 4j + e is of row l/4 + 8 (e/2) of the
// warp's 16 and column 8j + 2 (l%4) + e%2, l the lane.
template <bool kDown>
__device__ inline void wgmma(float (&c)[32], u64 a, u64 b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %34, 0;"
      " wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, 1, 1, 0, %35;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]),
        "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]),
        "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]),
        "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
      : "l"(a), "l"(b), "r"(add), "n"(int(kDown)));
}
template <bool kDown>
__device__ inline void wgmma(float (&c)[32], const unsigned (&a)[4], u64 b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %37, 0;"
      " wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, p, 1, 1, %38;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]),
        "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]),
        "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]),
        "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(int(kDown)));
}
template <bool kDown>
__device__ inline void wgmma(float (&c)[64], const unsigned (&a)[4], u64 b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %69, 0;"
      " wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, p, 1, 1, %70;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]),
        "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]),
        "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]),
        "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]), "+f"(c[32]),
        "+f"(c[33]), "+f"(c[34]), "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]), "+f"(c[40]),
        "+f"(c[41]), "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]), "+f"(c[48]),
        "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]), "+f"(c[56]),
        "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(int(kDown)));
}

// Sums as the factor `a` of a product over their N columns, rounded to bf16: the registers of a[i] are those that 16
// columns' sums lie in, pair by pair.
template <int N>
__device__ inline void to_factor(unsigned (&a)[N / 16][4], const float (&c)[N / 2]) {
#pragma unroll
  for (int i = 0; i < N / 16; ++i)
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(c[8 * i + 2 * k], c[8 * i + 2 * k + 1]);
      a[i][k] = *reinterpret_cast<const unsigned*>(&pair);
    }
}

// c += a b^T of tiles of D columns: 64 rows of a, N of b. kRows: of the tiles that they are parts of.
template <int D, int kRowsA, int kRowsB, int N2>
__device__ inline void add_product_of_rows(float (&c)[N2], u64 a, u64 b) {
#pragma unroll
  for (int i = 0; i < D / 16; ++i) {
    const int box = i / 4, within = i % 4 * 32;
    wgmma<false>(c, a + (box * kRowsA * 128 + within) / 16, b + (box * kRowsB * 128 + within) / 16, 1);
  }
}

// The same with a's rows in registers.
template <int D, int kRowsB, int N2>
__device__ inline void add_product_of_rows(float (&c)[N2], const unsigned (&a)[D / 16][4], u64 b) {
#pragma unroll
  for (int i = 0; i < D / 16; ++i) wgmma<false>(c, a[i], b + (i / 4 * kRowsB * 128 + i % 4 * 32) / 16, 1);
}

// A warp's 16 rows, from `row` on, of a tile of kRows x D as a factor in registers.
template <int D, int kRows>
__device__ inline void load_factor(unsigned (&a)[D / 16][4], const __nv_bfloat16* tile, int row) {
  const int lane = int(threadIdx.x) % 32, mine = row + lane % 16;  // the row whose 16 bytes this lane names
#pragma unroll
  for (int i = 0; i < D / 16; ++i) {
    const int piece = (i % 4 * 2 + lane / 16) ^ mine % 8;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                 : "r"(shared_address(tile) + (i / 4 * kRows + mine) * 128 + piece * 16)
                 : "memory");
  }
}

// Columns of a warp's 16, beginning at `column`, of a box of 64 columns: the transpose of 16 rows and N columns of
// sums, as to_factor gives them.
template <int N16>
__device__ inline void store_transposed(__nv_bfloat16* box, int column, const unsigned (&a)[N16][4]) {
  const int lane = int(threadIdx.x) % 32, row = lane / 16 * 8 + lane % 8,
            piece = (column / 8 + lane / 8 % 2) ^ lane % 8;
#pragma unroll
  for (int i = 0; i < N16; ++i)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(box) + (16 * i + row) * 128 + piece * 16),
                 "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3])
                 : "memory");
}

// c = a b, where a is a tile of 64 x kSummed, b one of kSummed rows.
template <int kSummed, int N2>
__device__ inline void product(float (&c)[N2], u64 a, u64 b) {
#pragma unroll
  for (int i = 0; i < kSummed / 16; ++i)
    wgmma<true>(c, a + (i / 4 * 64 * 128 + i % 4 * 32) / 16, b + i * 16 * 128 / 16, i > 0);
}

// c += a b, where b is a tile of N rows.
template <int N16, int D2>
__device__ inline void add_product(float (&c)[D2], const unsigned (&a)[N16][4], u64 b) {
#pragma unroll
  for (int i = 0; i < N16; ++i) wgmma<true>(c, a[i], b + i * 16 * 128 / 16, 1);
}

}  // namespace megalith::cuda::hopper
