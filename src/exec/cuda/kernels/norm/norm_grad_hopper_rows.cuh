// A thread's part of kRows rows of a norm's gradient in bf16: the same 8 kPacks columns of all rows, so their sums
// stay in registers. With n = (x - mean) rstd and g = dy w:
//   dw += dy n,  dc += dy,  dx = dres + rstd (g - mean(g) - n mean(g n)).\nn and g stay in registers from the sums to
//   dx, so a row is unpacked once.
#pragma once
#include "exec/cuda/kernels/magnitude.cuh"
#include "exec/cuda/kernels/norm/norm.cuh"

namespace megalith::cuda {

struct HopperGradArgs {
  NormGradBuffers b;
  int rows, h, lanes;
  float part;  // 1 / h
};

template <int kPacks, int kRows, class Form>
class HopperGradRows {
 public:
  static constexpr int kPack = 8;  // elements of 16 bytes
  static constexpr bool kCentred = Form::kCentred;
  static constexpr int kInputs = Form::kResidual ? 3 : 2, kKinds = kCentred ? 2 : 1, kSums = kRows * kKinds;
  static constexpr int kVectors = 1 + kCentred + Form::kBias;

  // A thread without columns computes on those of another thread with zero weights, and writes nothing.
  __device__ HopperGradRows(const HopperGradArgs& a, int thread) : a_(a) {
    const float zeros[kPack] = {};
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int column = (thread + k * a.lanes) * kPack;
      has_[k] = column < a.h;
      column_[k] = has_[k] ? column : 0;
      unpack(has_[k] ? load_pack<kPack>(as_bf16(a.b.w) + column_[k]) : packed<__nv_bfloat16>(zeros), w_[k]);
    }
  }

  // Statistics are read one step ahead. It takes those of the last call, and starts to read those of the rows from
  // `first` on.
  __device__ void fetch_stats(int first) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      next_rstd_[r] = first < a_.rows ? a_.b.rstd[first + r] : 0;
      if constexpr (kCentred) next_mean_[r] = first < a_.rows ? a_.b.mean[first + r] : 0;
    }
  }
  __device__ void take_stats() {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      rstd_[r] = next_rstd_[r];
      if constexpr (kCentred) mean_[r] = next_mean_[r];
    }
  }

  // Adds to dw and dc. stage: [kInputs][kRows][h], of dy, x and dres. sums: of each row g n and, for LayerNorm, g.
  __device__ void add(const __nv_bfloat16* stage, float (&sums)[kSums]) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k)
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        float dy[kPack], x[kPack];
        unpack(load_pack<kPack>(stage + r * a_.h + column_[k]), dy);
        unpack(load_pack<kPack>(stage + (kRows + r) * a_.h + column_[k]), x);
#pragma unroll
        for (int e = 0; e < kPack; ++e) {
          const float n = normal(x[e], r), g = dy[e] * w_[k][e];
          dw_[k][e] = fmaf(dy[e], n, dw_[k][e]);
          sums[r * kKinds] = fmaf(g, n, sums[r * kKinds]);
          if constexpr (kCentred) dc_[k][e] += dy[e], sums[r * kKinds + 1] += g;
          if constexpr (kKeepN) n_[r][k][e] = n;
          g_[r][k][e] = g;
        }
      }
  }

  // Stores dx of the rows from `row` on, and the form's other results. `sums`: over whole rows.
  __device__ void store(const __nv_bfloat16* stage, int row, const float (&sums)[kSums]) {
    const i64 first = i64(row) * a_.h;
    if constexpr (Form::kWithOutput) store_output(stage, static_cast<__nv_bfloat16*>(a_.b.y) + first);
#pragma unroll
    for (int k = 0; k < kPacks; ++k)
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float slope = -(rstd_[r] * (sums[r * kKinds] * a_.part));
        const float base = kCentred ? -(rstd_[r] * (sums[r * kKinds + kKinds - 1] * a_.part)) : 0;
        float n[kPack], dx[kPack], dres[kPack];
        get_n(stage, k, r, n);
        if constexpr (Form::kResidual) unpack(load_pack<kPack>(stage + (2 * kRows + r) * a_.h + column_[k]), dres);
#pragma unroll
        for (int e = 0; e < kPack; ++e) {
          float t = fmaf(n[e], slope, Form::kResidual ? dres[e] : base);
          if constexpr (kCentred && Form::kResidual) t += base;
          dx[e] = fmaf(g_[r][k][e], rstd_[r], t);
        }
        const Pack<__nv_bfloat16, kPack> pack = packed<__nv_bfloat16>(dx);
        if (has_[k]) put_pack(static_cast<__nv_bfloat16*>(a_.b.dx) + first + (r * a_.h + column_[k]), pack);
        if constexpr (Form::kAmax)
          if (has_[k]) most_ = larger_bits(most_, pack);
        if constexpr (Form::kBias) {
          unpack(pack, dx);  // rounded, as the separate sum of the bias would read it
#pragma unroll
          for (int e = 0; e < kPack; ++e) db_[k][e] += dx[e];
        }
      }
  }

  // All threads of a warp call it.
  __device__ void put_amax() const {
    if constexpr (Form::kAmax) raise_amax_by_warp(reinterpret_cast<u32*>(a_.b.amax), bits_of_f32<__nv_bfloat16>(most_));
  }

  // Writes the sums of this thread's columns to vectors [kVectors][h].
  __device__ void put_sums(float* to) const {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (!has_[k]) continue;
      put_pack(to + column_[k], packed<float>(dw_[k]));
      if constexpr (kCentred) put_pack(to + a_.h + column_[k], packed<float>(dc_[k]));
      if constexpr (Form::kBias) put_pack(to + (1 + kCentred) * a_.h + column_[k], packed<float>(db_[k]));
    }
  }

 private:
  static __device__ const __nv_bfloat16* as_bf16(const void* p) { return static_cast<const __nv_bfloat16*>(p); }

  // n of one element. The compiler hoists the values of its row.
  __device__ float normal(float x, int r) const {
    if constexpr (kCentred) return fmaf(x, rstd_[r], -mean_[r] * rstd_[r]);
    return __fmul_rn(x, rstd_[r]);
  }
  // One form has no registers for n, and computes it again.
  static constexpr bool kKeepN = kPacks == 1 || !(kCentred && Form::kWithOutput && Form::kBias);
  __device__ void get_n(const __nv_bfloat16* stage, int k, int r, float (&n)[kPack]) const {
    if constexpr (!kKeepN) unpack(load_pack<kPack>(stage + (kRows + r) * a_.h + column_[k]), n);
#pragma unroll
    for (int e = 0; e < kPack; ++e)
      if constexpr (kKeepN)
        n[e] = n_[r][k][e];
      else
        n[e] = normal(n[e], r);
  }

  // From x if there is a mean: n is rounded differently in the forward.
  __device__ void store_output(const __nv_bfloat16* stage, __nv_bfloat16* to) const {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      float c[kPack] = {};
      if constexpr (kCentred) unpack(load_pack<kPack>(as_bf16(a_.b.c) + column_[k]), c);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        float y[kPack];
        if constexpr (kCentred) unpack(load_pack<kPack>(stage + (kRows + r) * a_.h + column_[k]), y);
#pragma unroll
        for (int e = 0; e < kPack; ++e)
          if constexpr (kCentred)
            y[e] = normed(y[e] - mean_[r], rstd_[r], w_[k][e], c[e]);
          else
            y[e] = fmaf(n_[r][k][e], w_[k][e], 0.0f);
        if (has_[k]) put_pack(to + (r * a_.h + column_[k]), packed<__nv_bfloat16>(y));
      }
    }
  }

  const HopperGradArgs& a_;
  bool has_[kPacks];
  int column_[kPacks];
  float w_[kPacks][kPack], dw_[kPacks][kPack] = {}, dc_[kCentred ? kPacks : 1][kPack] = {},
                           db_[Form::kBias ? kPacks : 1][kPack] = {};
  float n_[kKeepN ? kRows : 1][kPacks][kPack], g_[kRows][kPacks][kPack];
  float rstd_[kRows], mean_[kRows], next_rstd_[kRows], next_mean_[kRows];
  u32 most_ = 0;  // of |dx|, in pairs
};

}  // namespace megalith::cuda
