// A multiplying warpgroup of products of fp8 codes: its 64 rows of the block's tiles, in the form c = a b^T. A stage is
// summed by the tensor cores, which keep few bits. Then it is added to f32 sums, while the other warpgroup multiplies.
#pragma once
#include "exec/cuda/hopper/code_products.cuh"
#include "exec/cuda/products/grouped_store.cuh"

namespace megalith::cuda::grouped {

template <Form kForm, class A, class B>
struct CodeSums {
  static constexpr bool kWeightGrad = kForm == Form::weight_grad;
  static constexpr int kDepth = OfCodes::kDepth;
  using Store = Stores<OfCodes, kWeightGrad>;
  using Stage = Turn<OfCodes::kStages>;
  using Numbers = float[OfCodes::kColumns / 2];  // a thread's part of 64 rows

  const Launch& l;
  Shared<OfCodes>& at;
  int group;
  Store store{l, at, group};

  __device__ void run() const {
    const float scale = *l.a_scale * *l.b_scale;
    Stage stage;
    for (int n = 0;; ++n) {
      const Tile t = take_tile(at, n);
      if (t.expert < 0) break;
      __syncwarp();
      if (threadIdx.x % 32 == 0) tile_is_read(at);
      const Place here = place_of(t);
      if (here.rows <= 0 || here.column >= l.columns) {
        pass(stages_of<OfCodes, kForm>(l, t), stage);
      } else if (kWeightGrad && t.rows == 0) {
        if (!l.add) store.put_zeros(here);
      } else {
        Numbers c;
        sum(t, stage, c);
        put(here, scale, c);
      }
    }
    if (threadIdx.x % 128 == 0) wait_until_read();
  }

 private:
  __device__ Place place_of(const Tile& t) const {
    const int row = t.row_tile * kTileRows + 64 * group, column = t.column_tile * OfCodes::kColumns;
    if (kWeightGrad) return {t.expert, row, min(l.rows - row, 64), column};
    return {0, t.begin + row, min(t.rows - row, 64), column};
  }
  __device__ void release(int s) const { grouped::release(&at.free[s]); }
  // Skips these stages.
  __device__ void pass(int until, Stage& stage) const {
    for (int i = 0; i < until; ++i, stage.next()) {
      wait(&at.full[stage.stage], stage.parity);
      release(stage.stage);
    }
  }

  // c = the sums, of at least one stage. While this warpgroup adds a stage to c, the other one multiplies.
  __device__ void sum(const Tile& t, Stage& stage, Numbers& c) const {
    const int until = stages_of<OfCodes, kForm>(l, t);
    Numbers part;
#pragma unroll
    for (float& x : c) x = 0;
    for (int i = 0; i < until; ++i, stage.next()) {
      multiply(t, i, stage, part);
#pragma unroll
      for (int k = 0; k < OfCodes::kColumns / 2; ++k) c[k] += part[k];
    }
  }
  // part = the products of the tile's stage i. They end here: with products in progress over a branch the compiler
  // would wait for each one (its message C7518).
  __device__ void multiply(const Tile& t, int i, const Stage& stage, Numbers& part) const {
    const int s = stage.stage;
    wait(&at.full[s], stage.parity);
    if (kWeightGrad) {
      const int begin = columns_before(t) - i * kDepth, end = begin + t.rows;  // of the expert's columns in the stage
      if (begin > 0 || end < kDepth) clear_columns(s, begin, end);
    }
    const u64 a = factor(shared_address(at.a[s][group]), kPieceBytes), b = factor(shared_address(at.b[s]), kPieceBytes);
    begin_products();
#pragma unroll
    for (int k = 0; k < kDepth / 32; ++k) wgmma(part, a + 2 * k, b + 2 * k, k > 0, A{}, B{});
    commit_products();
    wait_for_products<0>();
    pin(part);
    release(s);
  }
  // An expert's first and last stages may have columns of other experts. Zeros replace those outside [begin, end). Both
  // warpgroups write those of b.
  __device__ void clear_columns(int s, int begin, int end) const {
    const auto clear = [&](std::byte* box) {
      for (int i = int(threadIdx.x) % 128; i < 64 * 8; i += 128) {
        const int row = i / 8, piece = i % 8 ^ row % 8, first = begin - 16 * (i % 8), last = end - 16 * (i % 8);
        if (first <= 0 && last >= 16) continue;
        uint4& x = *reinterpret_cast<uint4*>(box + row * 128 + piece * 16);
        x = {x.x & between(first, last), x.y & between(first - 4, last - 4), x.z & between(first - 8, last - 8),
             x.w & between(first - 12, last - 12)};
      }
    };
    clear(at.a[s][group]);
#pragma unroll
    for (int p = 0; p < OfCodes::kPieces; ++p) clear(at.b[s][p]);
    order_shared();
    group_barrier(group);
  }
  // The bits of a word's bytes [begin, end).
  __device__ static unsigned between(int begin, int end) { return below(end) & ~below(begin); }
  __device__ static unsigned below(int n) { return n <= 0 ? 0 : n >= 4 ? ~0u : (1u << 8 * n) - 1; }

  __device__ void put(const Place& place, float scale, Numbers& c) const {
#pragma unroll
    for (float& x : c) x *= scale;
#pragma unroll
    for (int i = 0; i < Store::kBoxes; ++i) {
      Box w;
      Store::take(w, c, i);
      store.put(place, i, w);
    }
  }
};

}  // namespace megalith::cuda::grouped
