#include "quant/cast.h"

namespace megalith::quant {

template <class T>
float amax_of(std::span<const T> x) {
  float amax = 0;
  for (const T v : x) amax = larger(amax, absolute(float(v)));
  return amax;
}

template <class T>
void cast(Fp8 format, std::span<const T> x, float scale, std::span<u8> codes) {
  check(x.size() == codes.size(), "a cast of {} values into {} codes", x.size(), codes.size());
  with_format(format, [&]<class F>() {
    for (size_t i = 0; i < x.size(); ++i) codes[i] = F::encode(float(x[i]) * scale);
  });
}

template <class T>
i64 saturated(Fp8 format, std::span<const T> x, float scale) {
  i64 n = 0;
  for (const T v : x) n += absolute(float(v) * scale) > largest_of(format) ? 1 : 0;
  return n;
}

void transpose(In<u8> codes, Out<u8> codes_t) {
  want_sizes("the transpose", codes_t, codes.cols, codes.rows);
  for (i64 r = 0; r < codes.rows; ++r)
    for (i64 c = 0; c < codes.cols; ++c) codes_t(c, r) = codes(r, c);
}

template float amax_of(std::span<const float>);
template float amax_of(std::span<const bf16>);
template void cast(Fp8, std::span<const float>, float, std::span<u8>);
template void cast(Fp8, std::span<const bf16>, float, std::span<u8>);
template i64 saturated(Fp8, std::span<const float>, float);
template i64 saturated(Fp8, std::span<const bf16>, float);

}  // namespace megalith::quant
