#include "quant/mxfp8.h"

#include "quant/cast.h"
#include "quant/scale.h"

namespace megalith::quant {

template <class T>
void quantize_mx(Fp8 format, In<T> x, Out<u8> codes, Out<u8> scales) {
  check(x.cols % kMxBlock == 0, "MXFP8 of {} columns: want a multiple of {}", x.cols, kMxBlock);
  want_sizes("codes of MXFP8", codes, x.rows, x.cols);
  want_sizes("scales of MXFP8", scales, x.rows, x.cols / kMxBlock);
  for (size_t b = 0; b < scales.at.size(); ++b) {
    const std::span<const T> block = x.at.subspan(b * kMxBlock, kMxBlock);
    scales.at[b] = mx_code(amax_of<T>(block), largest_of(format));
    cast<T>(format, block, E8M0::inverse(scales.at[b]), codes.at.subspan(b * kMxBlock, kMxBlock));
  }
}

template void quantize_mx(Fp8, In<float>, Out<u8>, Out<u8>);
template void quantize_mx(Fp8, In<bf16>, Out<u8>, Out<u8>);

}  // namespace megalith::quant
