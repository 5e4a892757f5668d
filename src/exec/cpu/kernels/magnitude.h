// The largest |value| of a run as the bits of an f32 without sign. NaN is above infinity. Bits are integers, so the
// compiler vectorises the loop, and the order of the elements does not matter.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>

#include "exec/cpu/kernels/strided.h"
#include "quant/scale.h"

namespace megalith::cpu {

inline constexpr u32 kInfinityBits = 0x7f800000u;

template <class X>
u32 largest_bits(const X* x, i64 n) {
  u32 out = 0;
  for (i64 i = 0; i < n; ++i) out = std::max(out, quant::magnitude_bits(float(x[i])));
  return out;
}
// NaN counts as infinite.
inline float amax_of_bits(u32 bits) { return std::bit_cast<float>(std::min(bits, kInfinityBits)); }

// The amax of n values. parts: scratch for sum_parts(n) numbers.
template <class X>
float amax_of(const X* x, i64 n, u32* parts) {
  parallel_for(sum_parts(n), 1, [&](i64 i) {
    parts[i] = largest_bits(x + i * kSumPart, std::min(n, (i + 1) * kSumPart) - i * kSumPart);
  });
  u32 bits = 0;
  for (i64 i = 0; i < sum_parts(n); ++i) bits = std::max(bits, parts[i]);
  return amax_of_bits(bits);
}

// The amax of a result. Any thread may give its parts, in any order. to: null if the amax is not wanted.
class AmaxOfParts {
 public:
  explicit AmaxOfParts(float* to) : bits_(reinterpret_cast<u32*>(to)) {
    if (bits_) *bits_ = 0;
  }
  template <class X>
  void see(const X* x, i64 n) const {
    if (!bits_) return;
    const u32 seen = std::min(largest_bits(x, n), kInfinityBits);
    const std::atomic_ref<u32> most(*bits_);
    for (u32 was = most.load(std::memory_order_relaxed); was < seen;)
      if (most.compare_exchange_weak(was, seen, std::memory_order_relaxed)) return;
  }

 private:
  u32* bits_;
};

}  // namespace megalith::cpu
