// Kernel of Quantize. For each band of boxes it computes the boxes' amax, then their scales, then the codes. With one
// scale per tensor, threads may split the tensor anywhere.
#include <atomic>
#include <cmath>
#include <limits>

#include "base/rng.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/box_rows.h"
#include "exec/cpu/kernels/code_transpose.h"
#include "exec/cpu/kernels/magnitude.h"
#include "exec/cpu/kernels/strided.h"
#include "quant/fp8_format.h"
#include "quant/stochastic.h"

namespace megalith::cpu {
namespace {

struct BoxScale {
  float scale, scale_inv;
};

float largest_code(CodeFormat f) {
  return quant::largest_of(f == CodeFormat::e5m2 ? quant::Fp8::e5m2 : quant::Fp8::e4m3);
}

// amax: that of the box. of_tensor: that of the whole tensor, if the op reads it. state: the kept scale.
BoxScale scale_of(const Quantize& op, bool bf16_values, float amax, float of_tensor, float state) {
  const float seen = op.scaling == Scaling::nv ? std::max(amax, of_tensor) : amax;
  const float no_inverse = std::numeric_limits<float>::quiet_NaN();
  if (quant::is_infinite(seen)) return {state > 0 ? state : 1, no_inverse};
  const float top = largest_code(op.format);
  switch (op.scaling) {
    case Scaling::mx: {
      const u8 code = quant::mx_code(amax, top);
      return {quant::E8M0::inverse(code), quant::E8M0::decode(code)};
    }
    case Scaling::nv: {
      const quant::NvScale s = quant::nv_scale(amax, quant::nv_factor(of_tensor));
      return {s.scale, s.scale_inv};
    }
    default: {
      const bool power = op.scaling == Scaling::power_of_two;
      const float at_overflow = power && bf16_values ? quant::kBf16Max : quant::kF32Max;
      const float fresh = quant::current_scale(amax, top, {.power_of_two = power, .at_overflow = at_overflow});
      const float scale = op.scaling == Scaling::kept && state > 0 ? state : fresh;
      return {scale, quant::inverse(scale)};
    }
  }
}

// Counts the values that a cast saturates, and values that underflow to 0. Any thread may add. to: null if counts are
// not wanted.
class Losses {
 public:
  explicit Losses(i64* to) : to_(to) {
    if (to_) to_[0] = to_[1] = 0;
  }
  template <class X>
  void add(CodeFormat format, const X* x, i64 n, float scale, const u8* codes) const {
    if (!to_) return;
    const float top = format == CodeFormat::e2m1 ? 6 : largest_code(format);
    const u8 magnitude = format == CodeFormat::e2m1 ? 0x07 : 0x7f;
    i64 saturated = 0, underflow = 0;
    for (i64 i = 0; i < n; ++i) {
      saturated += std::abs(float(x[i]) * scale) > top;
      underflow += float(x[i]) != 0 && (codes[i] & magnitude) == 0;
    }
    std::atomic_ref(to_[0]).fetch_add(saturated, std::memory_order_relaxed);
    std::atomic_ref(to_[1]).fetch_add(underflow, std::memory_order_relaxed);
  }

 private:
  i64* to_;
};
Losses losses_of(const Quantize& op, const Args& a) { return Losses(op.counts ? a.out<i64>(op.counts_at()) : nullptr); }

template <class X>
void cast_run(CodeFormat format, const X* x, i64 n, float scale, u8* codes) {
  const auto all = [&](auto encode) {
    for (i64 i = 0; i < n; ++i) codes[i] = encode(float(x[i]) * scale);
  };
  if (format == CodeFormat::e4m3) return all([](float v) { return quant::E4M3::encode(v); });
  if (format == CodeFormat::e5m2) return all([](float v) { return quant::E5M2::encode(v); });
  all([](float v) { return quant::E2M1::encode(v); });
}

// Random bits of stochastic rounding. As in dropout, they depend on the seed, the sample number and the element's other
// global indices.
class RandomBits {
 public:
  RandomBits(const Quantize& op, const KernelContext& context) : seed_(op.seed) {
    if (op.stochastic)
      for (int d = 0; d < context.ins[0].ndim(); ++d) index_.push_back(context.in_indices(0, d));
  }
  explicit operator bool() const { return !index_.empty(); }

  template <class X>
  void cast_row(const X* x, i64 offset, i64 begin, i64 end, const i64* rows, float scale, u8* codes) const {
    const u64 h = row_key(offset, rows);
    const std::vector<i64>& last = index_.back();
    for (i64 i = begin; i < end; ++i)
      codes[i] = quant::encode_e2m1_stochastic(float(x[i]) * scale, u32(mix(h, u64(last[size_t(i)])) >> 32));
  }

 private:
  u64 row_key(i64 offset, const i64* rows) const {
    const size_t last = index_.size() - 1;
    i64 at = offset / i64(index_[last].size());
    std::vector<i64> place(last);
    for (size_t d = last; d-- > 0;) place[d] = at % i64(index_[d].size()), at /= i64(index_[d].size());
    u64 h = mix(seed_, u64(rows[place[1]]));
    for (size_t d = 0; d < last; ++d)
      if (d != 1) h = mix(h, u64(index_[d][size_t(place[d])]));
    return h;
  }

  u64 seed_;
  std::vector<std::vector<i64>> index_;  // global indices by dim; empty: no stochastic rounding
};

constexpr bool has_own_amax(Scaling s) { return s == Scaling::power_of_two || s == Scaling::mx || s == Scaling::nv; }

// The kept scale of an op that computes its amax itself. Also writes this amax.
template <class X>
BoxScale scale_by_own_amax(const Quantize& op, const Args& a, i64 n) {
  const float amax = amax_of(a.in<X>(0), n, reinterpret_cast<u32*>(a.workspace));
  *a.out<float>(2) = amax;
  return scale_of(op, false, amax, amax, a.in<float>(1)[op.at]);
}

// One scale for the rank's part of the tensor.
template <class X>
Kernel of_tensor(const Quantize& op, const BoxRows& rows) {
  check(rows.boxes() == 1, "[{}] {} boxes of a rank with a tensor's amax: want one", op.name, rows.boxes());
  const i64 parts = op.gives_amax ? sum_parts(rows.elements()) * i64(sizeof(u32)) : 0;
  return {parts, [op, n = rows.elements()](const Args& a) {
            const auto by_amax = [&](float amax) {
              return scale_of(op, false, amax, amax, op.scaling == Scaling::kept ? a.in<float>(2)[op.at] : 0);
            };
            const BoxScale s = op.gives_amax ? scale_by_own_amax<X>(op, a, n) : by_amax(*a.in<float>(1));
            *a.out<float>(1) = s.scale_inv;
            const Losses losses = losses_of(op, a);
            parallel_blocks(n, [&](i64 b, i64 e) {
              cast_run(op.format, a.in<X>(0) + b, e - b, s.scale, a.out<u8>(0) + b);
              losses.add(op.format, a.in<X>(0) + b, e - b, s.scale, a.out<u8>(0) + b);
            });
          }};
}

template <class X>
Kernel of_boxes(const Quantize& op, const BoxRows& rows, const RandomBits& random) {
  const auto band = [op, rows, random](const Args& a, const Losses& losses, i64 i) {
    const i64 first = i * rows.width();
    auto* bits = reinterpret_cast<u32*>(a.workspace) + first;
    std::fill_n(bits, rows.width(), 0);
    rows.for_rows(i, [&](i64 at) {
      rows.for_columns(
          [&](i64 k, i64 b, i64 e) { bits[k] = std::max(bits[k], largest_bits(a.in<X>(0) + at + b, e - b)); });
    });
    auto* scales = reinterpret_cast<float*>(bits);
    const float tensor = reads_amax(op.scaling) ? *a.in<float>(1) : 0;
    for (i64 k = 0; k < rows.width(); ++k) {
      const BoxScale s = scale_of(op, std::is_same_v<X, bf16>, amax_of_bits(bits[k]), tensor, 0);
      scales[k] = s.scale, a.out<float>(1)[first + k] = s.scale_inv;
    }
    rows.for_rows(i, [&](i64 at) {
      const X* x = a.in<X>(0) + at;
      u8* codes = a.out<u8>(0) + at;
      rows.for_columns([&](i64 k, i64 b, i64 e) {
        if (random)
          random.cast_row(x, at, b, e, a.in<i64>(2), scales[k], codes);
        else
          cast_run(op.format, x + b, e - b, scales[k], codes + b);
        losses.add(op.format, x + b, e - b, scales[k], codes + b);
      });
    });
  };
  return {rows.boxes() * i64(sizeof(float)), [op, band, n = rows.bands()](const Args& a) {
            const Losses losses = losses_of(op, a);
            parallel_for(n, 1, [&](i64 i) { band(a, losses, i); });
          }};
}

// Writes codes in the order of x, transposed, or both. `shape`: local shape of x.
Kernel in_orders(const Quantize& op, const Shape& shape, Kernel as_is) {
  if (op.orders == CodeOrders::as_is) return as_is;
  const auto [rows, columns] = matrix_of(shape, op.split);
  const i64 parts = op.by_sequence ? shape[1] : 1;
  if (op.orders == CodeOrders::both)
    return {as_is.workspace, [=, rows = rows, columns = columns, last = op.transpose_at()](const Args& a) {
              as_is.run(a);
              transpose_codes(a.out<u8>(0), rows, columns, a.out<u8>(last), parts);
            }};
  const i64 more = (rows * columns + 63) / 64 * 64;
  return {more + as_is.workspace, [=, rows = rows, columns = columns](const Args& a) {
            std::vector<std::byte*> outs(a.outs.begin(), a.outs.end());
            outs[0] = a.workspace;
            as_is.run({a.ins, outs, a.workspace + more, a.first_micro_batch});
            transpose_codes(reinterpret_cast<const u8*>(a.workspace), rows, columns, a.out<u8>(0), parts);
          }};
}

}  // namespace

Kernel prepare(const Quantize& op, const KernelContext& context) {
  if (count(context.in_shape(0)) == 0)
    return {0, [op](const Args& a) {
              if (op.gives_amax) *a.out<float>(2) = 0;
              (void)losses_of(op, a);
            }};
  const BoxRows rows(context.in_shape(0), op.box);
  check(rows.boxes() == count(context.out_shape(1)), "[{}] {} boxes, {} scales", op.name, rows.boxes(),
        count(context.out_shape(1)));
  return dispatch_float(context.ins[0].dtype, [&]<class X>() {
    return in_orders(
        op, context.in_shape(0),
        has_own_amax(op.scaling) ? of_boxes<X>(op, rows, RandomBits(op, context)) : of_tensor<X>(op, rows));
  });
}

}  // namespace megalith::cpu
