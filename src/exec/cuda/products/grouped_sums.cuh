// A multiplying warpgroup: its 64 rows of the block's tiles. The two warpgroups of a block synchronize only by the
// stages of loaded factors. The last boxes of a tile's sums wait in registers. They are stored during the products of
// the next tile, so the tensor cores hardly pause between tiles.
#pragma once
#include "exec/cuda/hopper/products.cuh"
#include "exec/cuda/products/grouped_store.cuh"

namespace megalith::cuda::grouped {

constexpr int kHeld = 4;  // boxes that wait

template <Form kForm>
struct Sums {
  static constexpr bool kWeightGrad = kForm == Form::weight_grad;
  static constexpr bool kDownA = kWeightGrad, kDownB = kForm != Form::forward;  // the summed index lies along rows
  static constexpr int kDepth = OfValues::kDepth;
  using Store = Stores<OfValues, kWeightGrad>;
  using Stage = Turn<OfValues::kStages>;
  static constexpr int kBefore = Store::kBoxes - kHeld;  // boxes before those that wait

  const Launch& l;
  Shared<OfValues>& at;
  int group;
  Store store{l, at, group};

  __device__ void run() const {
    Stage stage;
    Box held[kHeld];
    Place place{0, 0, 0, 0};  // of the boxes that wait
    for (int n = 0;; ++n) {
      const Tile t = take_tile(at, n);
      if (t.expert < 0) break;
      __syncwarp();
      if (threadIdx.x % 32 == 0) tile_is_read(at);
      const Place here = place_of(t);
      if (here.rows <= 0 || here.column >= l.columns) {
        pass(stages_of<OfValues, kForm>(l, t), stage);
      } else if (kWeightGrad && t.rows == 0) {
        if (!l.add) store.put_zeros(here);
      } else {
        float c[128];
        sum(t, stage, c, place, held);
        put_first(here, c, held);
        place = here;
      }
    }
    put_held(place, held);
    if (threadIdx.x % 128 == 0) wait_until_read();
  }

 private:
  __device__ Place place_of(const Tile& t) const {
    const int row = t.row_tile * kTileRows + 64 * group, column = t.column_tile * OfValues::kColumns;
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
  // c = the sums, of at least one stage. The waiting boxes are stored one by one, each after one of the first stages.
  __device__ void sum(const Tile& t, Stage& stage, float (&c)[128], const Place& place,
                      const Box (&held)[kHeld]) const {
    const int until = stages_of<OfValues, kForm>(l, t);
    int i = 0;
    if (until >= kHeld) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k, ++i) {
        add_stage(t, k, stage, c);
        store.put(place, kBefore + k, held[k]);
      }
    } else {
      put_held(place, held);
    }
    for (; i < until; ++i) add_stage(t, i, stage, c);
    wait_for_products<0>();
    pin(c);
    release(stage.before().stage);
  }
  // Starts the products of the tile's stage i. Those of the previous stage are complete on return.
  __device__ void add_stage(const Tile& t, int i, Stage& stage, float (&c)[128]) const {
    const int s = stage.stage;
    wait(&at.full[s], stage.parity);
    if (kWeightGrad && (i + 1) * kDepth > t.rows) clear_rows(s, t.rows % kDepth);
    const u64 a = factor(shared_address(at.a[s][group]), kPieceBytes), b = factor(shared_address(at.b[s]), kPieceBytes);
    begin_products();
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k)
      wgmma<kDownA, kDownB>(c, step<kDownA>(a, k), step<kDownB>(b, k), i > 0 || k > 0);
    commit_products();
    wait_for_products<1>();
    if (i > 0) release(stage.before().stage);
    stage.next();
  }
  // The factor from the k-th 16 values of the summed index on.
  template <bool kDown>
  __device__ static u64 step(u64 factor, int k) {
    return factor + (kDown ? k * 16 * 128 : k * 32) / 16;
  }
  // An expert's last stage may have fewer rows. Zeros replace the rows after them, which belong to others. Both
  // warpgroups write those of b.
  __device__ void clear_rows(int s, int rows) const {
    const auto clear = [&](std::byte* box) {
      for (int i = rows * 8 + int(threadIdx.x) % 128; i < 64 * 8; i += 128) reinterpret_cast<uint4*>(box)[i] = uint4{};
    };
    clear(at.a[s][group]);
#pragma unroll
    for (int p = 0; p < OfValues::kPieces; ++p) clear(at.b[s][p]);
    order_shared();
    group_barrier(group);
  }
  // Stores the first boxes and keeps the others.
  __device__ void put_first(const Place& place, const float (&c)[128], Box (&held)[kHeld]) const {
#pragma unroll
    for (int i = 0; i < kBefore; ++i) {
      Box w;
      Store::take(w, c, i);
      store.put(place, i, w);
    }
#pragma unroll
    for (int k = 0; k < kHeld; ++k) Store::take(held[k], c, kBefore + k);
  }
  __device__ void put_held(const Place& place, const Box (&held)[kHeld]) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) store.put(place, kBefore + k, held[k]);
  }
};

}  // namespace megalith::cuda::grouped
