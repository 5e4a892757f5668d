// Vector types of GCC and Clang, as wide as the widest register of the target machine. Storage types (bf16, f16)
// convert to float on load. each_vector() loops over n elements: full vectors, then one partial vector.
#pragma once
#include <cstring>

#include "base/dtype.h"

namespace megalith::cpu {

constexpr int kVectorBytes = __BIGGEST_ALIGNMENT__;

template <class T, int bytes = kVectorBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
};
template <class T>
using Vec = typename VectorOf<T>::type;  // of float, double and integers
template <class T>
constexpr int kLanes = kVectorBytes / int(sizeof(T));

// The signed integer type with the width of T: the element type of comparisons of Vec<T>.
template <class T>
struct int_of {
  using type = i32;
};
template <>
struct int_of<double> {
  using type = i64;
};
template <class T>
using int_t = typename int_of<T>::type;

template <class T>
Vec<T> fill(T x) {
  return x - Vec<T>{};
}

struct Full {};  // a whole vector
struct Part {
  i64 count;
};  // the first `count` lanes; a load sets the others to 0

template <class T>
Vec<accum_t<T>> load(const T* p, Full = {}) {
  Vec<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <>
inline Vec<float> load(const bf16* p, Full) {
  VectorOf<u16, kVectorBytes / 2>::type half;
  std::memcpy(&half, p, sizeof half);
  return Vec<float>(__builtin_convertvector(half, Vec<u32>) << 16);
}
// Converts f16 bits in the low halves of words to f32 bits. It uses integer operations, because the compiler's own
// conversion is slow.
template <class W>
[[gnu::always_inline]] inline W widen_half(W half) {
  using F = typename VectorOf<float, int(sizeof(W))>::type;
  using I = typename VectorOf<i32, int(sizeof(W))>::type;
  const W magnitude = half & 0x7fffu, fraction = half & 0x3ffu;
  const W small = W(__builtin_convertvector(I(fraction), F) * 0x1p-24f);
  const W wide = (magnitude << 13) + (magnitude >= 0x7c00u ? W{} + (224u << 23) : W{} + (112u << 23));
  return (magnitude < 0x400u ? small : wide) | ((half & 0x8000u) << 16);
}
template <>
inline Vec<float> load(const f16* p, Full) {
  VectorOf<u16, kVectorBytes / 2>::type half;
  std::memcpy(&half, p, sizeof half);
  return Vec<float>(widen_half(__builtin_convertvector(half, Vec<u32>)));
}
template <class T>
Vec<accum_t<T>> load(const T* p, Part part) {
  T lanes[kLanes<accum_t<T>>] = {};
  std::memcpy(static_cast<void*>(lanes), p, size_t(part.count) * sizeof(T));
  return load(lanes, Full{});
}

template <class A>
void store(A* p, Vec<A> v, Full = {}) {
  std::memcpy(p, &v, sizeof v);
}
inline void store(bf16* p, Vec<float> v, Full = {}) {  // rounds to nearest even, keeps NaN
  const Vec<u32> u = Vec<u32>(v), high = u >> 16;
  const Vec<u32> bits = (u & 0x7fffffffu) > 0x7f800000u ? (high | 0x40u) : ((u + 0x7fffu + (high & 1u)) >> 16);
  const auto half = __builtin_convertvector(bits, VectorOf<u16, kVectorBytes / 2>::type);
  std::memcpy(static_cast<void*>(p), &half, sizeof half);
}
inline void store(f16* p, Vec<float> v, Full = {}) {  // rounds as the type f16 does
  const Vec<u32> u = Vec<u32>(v), magnitude = u & 0x7fffffffu;
  const Vec<u32> normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  const Vec<u32> small = Vec<u32>(Vec<float>(magnitude) + 0.5f) - 0x3f000000u;
  const Vec<u32> special = magnitude > 0x7f800000u ? (0x7e00u | ((magnitude >> 13) & 0x3ffu)) : Vec<u32>{} + 0x7c00u;
  const Vec<u32> bits = magnitude >= 0x47800000u ? special : magnitude < 0x38800000u ? small : normal;
  const auto half = __builtin_convertvector(bits | ((u >> 16) & 0x8000u), VectorOf<u16, kVectorBytes / 2>::type);
  std::memcpy(static_cast<void*>(p), &half, sizeof half);
}
template <class T>
void store(T* p, Vec<accum_t<T>> v, Part part) {
  T lanes[kLanes<accum_t<T>>];
  store(lanes, v, Full{});
  std::memcpy(static_cast<void*>(p), lanes, size_t(part.count) * sizeof(T));
}

// v with 0 in the lanes outside of the part.
template <class A>
Vec<A> only(Vec<A> v, Full) {
  return v;
}
template <class A>
Vec<A> only(Vec<A> v, Part part) {
  A lanes[kLanes<A>];
  store(lanes, v);
  return load(lanes, part);
}

// Calls f(i, Full{}) for each full vector of [begin, end) and f(i, Part{left}) for the rest. A: the type of the
// arithmetic.
template <class A, class F>
void each_vector(i64 begin, i64 end, F&& f) {
  i64 i = begin;
  for (; i + kLanes<A> <= end; i += kLanes<A>) f(i, Full{});
  if (i < end) f(i, Part{end - i});
}

template <class T>
Vec<T> max(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}  // b if either is NaN
template <class T>
Vec<T> min(Vec<T> a, Vec<T> b) {
  return a < b ? a : b;
}

template <class T>
T sum_lanes(Vec<T> v) {  // pairwise, in a fixed order
  T lanes[kLanes<T>];
  store(lanes, v);
  for (int n = kLanes<T> / 2; n > 0; n /= 2)
    for (int i = 0; i < n; ++i) lanes[i] += lanes[i + n];
  return lanes[0];
}
// The sum of f(i, part) over the vectors of [0, n). Four independent sums hide latency. f returns 0 in lanes beyond the
// end.
template <class A, class F>
A sum_over(i64 n, F&& f) {
  constexpr i64 lanes = kLanes<A>;
  Vec<A> sum[4] = {};
  i64 i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (int k = 0; k < 4; ++k) sum[k] += f(i + k * lanes, Full{});
  each_vector<A>(i, n, [&](i64 at, auto part) { sum[0] += f(at, part); });
  return sum_lanes<A>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}
template <class T>
T max_lanes(Vec<T> v) {
  T out = v[0];
  for (int i = 1; i < kLanes<T>; ++i) out = v[i] > out ? v[i] : out;
  return out;
}

// Transposes a square of kLanes rows in place, in log2(kLanes) rounds. A round interleaves row i with row i + half.
template <class T>
void transpose(Vec<T> (&rows)[kLanes<T>]) {
  constexpr int n = kLanes<T>;
  using I = Vec<int_t<T>>;
  I low, high;
  for (int i = 0; i < n; ++i) low[i] = i / 2 + i % 2 * n, high[i] = low[i] + n / 2;
#pragma GCC unroll 6
  for (int round = 1; round < n; round *= 2) {
    Vec<T> out[n];
#pragma GCC unroll 16
    for (int i = 0; i < n / 2; ++i) {
      out[2 * i] = __builtin_shuffle(rows[i], rows[i + n / 2], low);
      out[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + n / 2], high);
    }
#pragma GCC unroll 32
    for (int i = 0; i < n; ++i) rows[i] = out[i];
  }
}

}  // namespace megalith::cpu
