// Codes of fp8 and fp4 as values (ops/quantize.h).
#pragma once
#include <array>

#include "exec/cpu/kernels/box_rows.h"
#include "exec/cpu/kernels/strided.h"
#include "ops/quantize.h"
#include "quant/small_float.h"

namespace megalith::cpu {

inline std::array<float, 256> values_of(CodeFormat f) {
  std::array<float, 256> out;
  for (u32 code = 0; code < 256; ++code)
    out[code] = f == CodeFormat::e4m3   ? quant::E4M3::decode(code)
                : f == CodeFormat::e5m2 ? quant::E5M2::decode(code)
                                        : quant::E2M1::decode(code & 0xf);
  return out;
}

// Decodes codes with scale_inv to values.
template <class V>
class Decoder {
 public:
  Decoder(CodeFormat format, const Shape& shape, const Shape& box) : values_(values_of(format)), rows_(shape, box) {}

  void run(const u8* codes, const float* scale_inv, V* out) const {
    if (rows_.boxes() == 1)
      return parallel_blocks(rows_.elements(), [&](i64 b, i64 e) { decode(codes + b, e - b, *scale_inv, out + b); });
    parallel_for(rows_.bands(), 1, [&](i64 i) {
      const float* scales = scale_inv + i * rows_.width();
      rows_.for_rows(i, [&](i64 at) {
        rows_.for_columns([&](i64 k, i64 b, i64 e) { decode(codes + at + b, e - b, scales[k], out + at + b); });
      });
    });
  }

 private:
  void decode(const u8* codes, i64 n, float scale_inv, V* out) const {
    for (i64 i = 0; i < n; ++i) out[i] = V(values_[codes[i]]) * V(scale_inv);
  }

  std::array<float, 256> values_;
  BoxRows rows_;
};

}  // namespace megalith::cpu
