#include "ckpt/tensors/strided.h"

#include <cstring>

#include "base/check.h"
#include "base/threads.h"

namespace megalith {
namespace {

constexpr i64 kGrain = 1 << 16;  // elements a thread

template <class T>
float load(const std::byte* p, i64 i) {
  T value;
  std::memcpy(&value, p + i * i64(sizeof(T)), sizeof(T));
  return float(value);
}
template <class T>
void store(std::byte* p, i64 i, float f) {
  const T value(f);
  std::memcpy(p + i * i64(sizeof(T)), &value, sizeof(T));
}

// f(first index of ours, of theirs, length) for each innermost row; long single rows are cut among threads.
template <class F>
void for_rows(const Strides& s, F&& f) {
  const i64 rows = s.size[0] * s.size[1], n = s.size[2];
  if (rows == 1)
    return parallel_ranges(n, kGrain, [&](i64 begin, i64 end) {
      f(s.our_start + begin * s.ours[2], s.their_start + begin * s.theirs[2], end - begin);
    });
  parallel_for(rows, kGrain / std::max<i64>(n, 1) + 1, [&](i64 row) {
    const i64 i = row / s.size[1], j = row % s.size[1];
    f(s.our_start + i * s.ours[0] + j * s.ours[1], s.their_start + i * s.theirs[0] + j * s.theirs[1], n);
  });
}

template <class T>
void unpack_as(const Strides& s, const std::byte* theirs, float* ours) {
  for_rows(s, [&](i64 to, i64 from, i64 n) {
    for (i64 k = 0; k < n; ++k) ours[to + k * s.ours[2]] = load<T>(theirs, from + k * s.theirs[2]);
  });
}
template <class T>
void pack_as(const Strides& s, const float* ours, std::byte* theirs) {
  for_rows(s, [&](i64 from, i64 to, i64 n) {
    for (i64 k = 0; k < n; ++k) store<T>(theirs, to + k * s.theirs[2], ours[from + k * s.ours[2]]);
  });
}

}  // namespace

void unpack(const Strides& s, DType type, const std::byte* theirs, float* ours) {
  switch (type) {
    case DType::f32:
      return unpack_as<float>(s, theirs, ours);
    case DType::f64:
      return unpack_as<double>(s, theirs, ours);
    case DType::bf16:
      return unpack_as<bf16>(s, theirs, ours);
    case DType::f16:
      return unpack_as<f16>(s, theirs, ours);
    default:
      fail("[ckpt] a weight has type {}: want f32, f64, bf16 or f16", name_of(type));
  }
}

void pack(const Strides& s, DType type, const float* ours, std::byte* theirs) {
  switch (type) {
    case DType::f32:
      return pack_as<float>(s, ours, theirs);
    case DType::f64:
      return pack_as<double>(s, ours, theirs);
    case DType::bf16:
      return pack_as<bf16>(s, ours, theirs);
    case DType::f16:
      return pack_as<f16>(s, ours, theirs);
    default:
      fail("[ckpt] cannot write weights as {}: want f32, f64, bf16 or f16", name_of(type));
  }
}

}  // namespace megalith
