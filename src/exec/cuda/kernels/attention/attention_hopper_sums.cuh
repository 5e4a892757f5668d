// The work of a block for the sums of attention_hopper.h: it loads, adds to dq, and multiplies. Scores are transposed
// (one row per key), so the factors of dk and dv stay in registers. dS goes through shared memory, because dq sums
// over the keys of both warpgroups. Each warpgroup computes some of dq's boxes of 64 columns. With wide heads it has
// one box of every tile of queries; with narrow heads the box of every other tile.
#pragma once
#include "exec/cuda/kernels/attention/attention_hopper_dq.cuh"
#include "exec/cuda/kernels/attention/attention_hopper_shared.cuh"

namespace megalith::cuda::hopper {

// Out: type of dk and dv. kPlain: as in is_plain().
template <int D, class Out, bool kPlain>
struct Sums {
  static constexpr int kBoxes = D / 64;
  using Rows = OwnRows<D, D == 64>;
  using Stage = Turn<kStages<D>>;
  // Counters over the tiles of queries of all items: dS has two buffers, and the adding warps alternate.
  using Adder = Turn<kAdders<D>>;
  struct Step {
    Turn<2> ds;
    Adder adder;

    __device__ void next() { ds.next(), adder.next(); }
    __device__ Step before() const { return {ds.before(), adder.before()}; }
  };
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const HopperGradMaps& maps;
  const Scratch& scratch;
  const Work& work;
  Shared<D>& at;

  __device__ Walk<kPlain> walk(const Work::Item& it) const {
    return {z, first_query_tile<kPlain>(z, it.tile, scratch.tiles), scratch.tiles};
  }
  // The group's first head, counted over all samples.
  __device__ int first_head(const Work::Item& it) const { return it.group * z.r; }
  // Whether a warpgroup has a box of dq in this step, and the first buffer of the step's boxes. The buffer is free
  // again after the barrier and parity below.
  __device__ static bool has_box(int group, const Step& step) { return kBoxes == kGroups || step.ds.stage == group; }
  __device__ static int place(const Adder& adder) { return kBoxes == kGroups ? 0 : adder.stage; }
  __device__ u64* place_free(const Adder& adder) const { return &at.dq_free[place(adder)]; }
  __device__ static int place_parity(const Adder& adder) { return kBoxes == kGroups ? adder.stage : adder.parity; }

  // One lane of each copying warp runs this.
  __device__ void load() const {
    Stage stage;
    for (Turn<kBuffers<D>> keys;; keys.next()) {
      const Work::Item it = work.item(atomicAdd(scratch.ticket, 1));
      u64* full = &at.keys_full[keys.stage];
      wait(&at.keys_free[keys.stage], keys.parity ^ 1);
      at.item[keys.stage] = it;
      if (it.tile < 0) {
        arrive(full);
        if (it.makes_dq()) continue;
        return;
      }
      const int sample = it.group / z.g, column = (sample * z.key_heads + it.group % z.g) * D;
      announce(full, 2 * kKeys * D * 2);
      load_tile<D, kKeys>(at.k[keys.stage], maps.k, column, it.tile * kKeys, full);
      load_tile<D, kKeys>(at.v[keys.stage], maps.v, column, it.tile * kKeys, full);
      const int others = sample * (z.query_heads - z.g * z.r);  // heads in q's rows
#pragma unroll 1
      for (Walk<kPlain> w = walk(it); w.left > 0; w.next(), stage.next())
        load_queries(first_head(it) + w.head, others, w, stage);
    }
  }
  __device__ void load_queries(int head, int others, const Walk<kPlain>& w, const Stage& stage) const {
    const int i = stage.stage;
    u64* full = &at.full[i];
    wait(&at.free[i], stage.parity ^ 1);
    at.position[i] = w.queries.position;
    announce(full, 2 * kQueries * D * 2 + 2 * kQueries * 4);
    load_tile<D, kQueries>(at.q[i], maps.q, (others + head) * D, w.queries.local, full);
    load_bytes(at.begin[i], scratch.begin + i64(head * scratch.tiles + w.tile) * (2 * kQueries), 2 * kQueries * 4,
               full);
    load_tile<D, kQueries>(at.dout[i], maps.dout, head * D, w.queries.local, full);
  }

  // Adds dq of every second or third tile of queries to its sums, each in this block's turn.
  __device__ void add(int mine) const {
    Adder step;
    for (Turn<kBuffers<D>> keys;; keys.next()) {
      wait(&at.keys_full[keys.stage], keys.parity);
      const Work::Item it = at.item[keys.stage];
      arrive(&at.keys_free[keys.stage]);
      if (it.makes_dq()) continue;
      if (it.tile < 0) return;
      const Work::Turns turns = work.turns(it.tile);  // runs of positions leave too few registers to keep them
#pragma unroll 1
      for (Walk<kPlain> w = walk(it); w.left > 0; w.next(), step.next())
        if (step.stage == mine)
          add_tile((first_head(it) + w.head) * scratch.tiles + w.tile,
                   (kPlain ? turns : work.turns(it.tile)).of(last_key_tile<kPlain>(w.queries)), step);
    }
  }
  __device__ void add_tile(int tile, int turn, const Adder& step) const {
    constexpr int kFloats = kQueries * D;
    while (seen(scratch.turns + tile) != turn) {
    }
    order_global();
    wait(&at.dq_full[step.stage], step.parity);
    float* to = scratch.dq + i64(tile) * kFloats;
    const float* from = at.dq[place(step)];
    if (turn == 0)
      store_bytes(to, from, kFloats * 4);
    else
      add_floats(to, from, kFloats * 4);
    commit_writes();
    wait_until_read();
    arrive(place_free(step));
    wait_until_written();
    tell(scratch.turns + tile, turn + 1);
  }

  __device__ static u64 tile_factor(const __nv_bfloat16* tile) { return factor(shared_address(tile), kQueries * 128); }

  // Masks keys after their query. `ahead`: this thread's first key, relative to the tile's first query.
  __device__ static void hide(float (&s)[kQueries / 2], int ahead) {
#pragma unroll
    for (int j = 0; j < kQueries / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (ahead + e / 2 * 8 > 8 * j + lane().column + e % 2) s[4 * j + e] = -INFINITY;
  }
  // Masks the warpgroup's keys from number `seen` on.
  __device__ static void hide_end(float (&s)[kQueries / 2], int seen) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (lane().row + 8 * half >= seen)
#pragma unroll
        for (int j = 0; j < kQueries / 8; ++j) s[4 * j + 2 * half] = s[4 * j + 2 * half + 1] = -INFINITY;
  }
  // Keys of a sample's sequence.
  __device__ int end_of(const Work::Item& it) const {
    return !kPlain && x.lengths ? min(z.t, x.lengths[it.group / z.g]) : z.t;
  }
  // Sets the initial values of sums: a number for each query.
  __device__ static void begin_with(float (&c)[kQueries / 2], const float* x) {
#pragma unroll
    for (int j = 0; j < kQueries / 8; ++j) {
      const float2 pair = *reinterpret_cast<const float2*>(x + 8 * j + lane().column);
      c[4 * j] = c[4 * j + 2] = pair.x, c[4 * j + 1] = c[4 * j + 3] = pair.y;
    }
  }

  __device__ void multiply(int mine) const {
    Stage stage;
    Step step;
    for (Turn<kBuffers<D>> keys;; keys.next()) {
      wait(&at.keys_full[keys.stage], keys.parity);
      // So the compiler knows that all threads of a warp have the same value.
      const Work::Item it{__shfl_sync(0xffffffffu, at.item[keys.stage].group, 0),
                          __shfl_sync(0xffffffffu, at.item[keys.stage].tile, 0)};
      if (it.makes_dq()) {
        arrive(&at.keys_free[keys.stage]);
        MakeDq<D, Out, kPlain>{z, x, scratch, work}(it, mine);
        continue;
      }
      if (it.tile < 0) return;
      float dk[D / 2] = {}, dv[D / 2] = {};
      // Keys after all queries of this rank have zero gradients.
      if (const int steps = walk(it).left; steps > 0)
        sum(steps, it, mine, at.k[keys.stage], at.v[keys.stage], stage, step, dk, dv);
      arrive(&at.keys_free[keys.stage]);
      const int start = it.tile * kKeys + mine * 64;  // the warpgroup's first key
      const i64 stride = i64(z.b) * z.key_heads * D;
      const i64 place = start * stride + i64(it.group / z.g * z.key_heads + it.group % z.g) * D;
      store_sums<D>(static_cast<Out*>(x.dk) + place, stride, z.t - start, dk, z.scale);
      store_sums<D>(static_cast<Out*>(x.dv) + place, stride, z.t - start, dv, 1);
    }
  }

  // Starts c = `rows` times those of b, a tile of queries, plus a number for each query.
  __device__ static void begin_rows(float (&c)[kQueries / 2], const Rows& rows, const __nv_bfloat16* b,
                                    const float* x) {
    begin_with(c, x);
    pin(c);
    begin_products();
    rows.add_multiplied(c, tile_factor(b));
    commit_products();
  }
  // Replaces s by the probabilities, and gives them in p as a factor. `ahead`: as in hide(); `seen`: as in
  // hide_end().
  __device__ void probabilities(float (&s)[kQueries / 2], unsigned (&p)[kQueries / 16][4], int ahead, int seen) const {
    const float scale = z.scale * kLog2E;
    if (!kPlain && seen < 64) hide_end(s, seen);
    if (ahead - lane().row + 63 > 0) hide(s, ahead);
#pragma unroll
    for (int n = 0; n < kQueries / 2; ++n) s[n] = exp2_fast(s[n] * scale);
    to_factor<kQueries>(p, s);
  }
  // Starts sums += a b.
  __device__ static void begin_sums(float (&sums)[D / 2], unsigned (&a)[kQueries / 16][4], const __nv_bfloat16* b) {
    pin(a), pin(sums);
    begin_products();
    add_product(sums, a, tile_factor(b));
    commit_products();
  }

  // Products overlap with the arithmetic between them: do v^T with the probabilities, P^T do with dS, the next tile's
  // scores with the hand-over of dq. dq is one step late, so neither warpgroup waits for the dS of the other.
  __device__ void sum(int left, const Work::Item& it, int mine, const __nv_bfloat16* keys, const __nv_bfloat16* values,
                      Stage& stage, Step& step, float (&dk)[D / 2], float (&dv)[D / 2]) const {
    const Rows k(keys, mine * 64), v(values, mine * 64);
    const u64 k_box = factor(shared_address(keys + mine % kBoxes * kKeys * 64), 0);
    const int start = it.tile * kKeys + mine * 64, seen = end_of(it) - start;
    float s[kQueries / 2], d[kQueries / 2];  // of one tile of queries; d later holds dq
    unsigned p[kQueries / 16][4], ds[kQueries / 16][4];
    pin(dk), pin(dv);
    wait(&at.full[stage.stage], stage.parity);
    wait_for_products<0>();
    begin_rows(s, k, at.q[stage.stage], at.begin[stage.stage][0]);
    bool handed = false;  // whether a box of dq, of the step before the last, still needs a signal to its adding warp
    int adder = 0;        // that warp
    for (bool first = true;; first = false) {
      const int i = stage.stage;
      begin_rows(d, v, at.dout[i], at.begin[i][1]);
      order_shared();
      if (handed) arrive(&at.dq_full[adder]);
      wait_for_products<1>();
      pin(s);
      probabilities(s, p, start + lane().row - at.position[i], seen);
      begin_sums(dv, p, at.dout[i]);
      wait_for_products<1>();
      pin(d);
#pragma unroll
      for (int n = 0; n < kQueries / 2; ++n) d[n] *= s[n];
      to_factor<kQueries>(ds, d);
      wait(&at.ds_free[step.ds.stage], step.ds.parity ^ 1);
      store_transposed(at.ds[step.ds.stage][mine], int(threadIdx.x) % 128 / 32 * 16, ds);
      begin_sums(dk, ds, at.q[i]);
      order_shared();
      arrive(&at.ds_full[step.ds.stage]);
      const Step before = step.before();
      const bool has = !first && has_box(mine, before);
      step.next(), stage.next(), --left;
      if (left > 0) wait(&at.full[stage.stage], stage.parity);
      if (has) wait(&at.ds_full[before.ds.stage], before.ds.parity);
      wait_for_products<0>();
      pin(dk), pin(dv), pin(p), pin(ds), pin(d), pin(s);
      arrive(&at.free[i]);
      if (left == 0) {
        if (has) finish(before, mine, k_box, d);
        break;
      }
      if (has) begin_dq(d, before, k_box);
      begin_rows(s, k, at.q[stage.stage], at.begin[stage.stage][0]);
      wait_for_products<1>();
      pin(d);
      if (has) hand_over(d, mine, before);
      handed = has, adder = before.adder.stage;
    }
    const Step last = step.before();
    if (has_box(mine, last)) {
      wait(&at.ds_full[last.ds.stage], last.ds.parity);
      finish(last, mine, k_box, d);
    }
  }

  // Starts a box of dq: dS of both warpgroups' keys times a box of k.
  __device__ void begin_dq(float (&dq)[kQueries / 2], const Step& step, u64 k_box) const {
    begin_products();
    product<kKeys>(dq, factor(shared_address(at.ds[step.ds.stage][0]), 0), k_box);
    commit_products();
  }
  __device__ void finish(const Step& step, int mine, u64 k_box, float (&dq)[kQueries / 2]) const {
    pin(dq);
    begin_dq(dq, step, k_box);
    wait_for_products<0>();
    pin(dq);
    hand_over(dq, mine, step);
    order_shared();
    arrive(&at.dq_full[step.adder.stage]);
  }
  // Writes a finished box of dq to the adding warp's buffer.
  __device__ void hand_over(const float (&dq)[kQueries / 2], int mine, const Step& step) const {
    arrive(&at.ds_free[step.ds.stage]);
    float4* to = reinterpret_cast<float4*>(at.dq[place(step.adder) + mine % kBoxes]) + threadIdx.x % 128;
    wait(place_free(step.adder), place_parity(step.adder) ^ 1);
#pragma unroll
    for (int j = 0; j < kQueries / 8; ++j)
      to[j * 128] = make_float4(dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]);
  }
};

}  // namespace megalith::cuda::hopper
