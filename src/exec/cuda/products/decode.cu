#include "exec/cuda/products/decode.h"

#include "exec/cuda/launch.cuh"
#include "quant/small_float.h"

namespace megalith::cuda {

constexpr int kDecodeThreads = 256, kDecodedTogether = 8;

static __device__ float value_of_code(DType from, u32 code) {
  return from == DType::f8_e4m3   ? quant::E4M3::decode(code)
         : from == DType::f8_e5m2 ? quant::E5M2::decode(code)
                                  : quant::E2M1::decode(code & 0xf);
}

// The index of element i's scale, without the last dim. column: i's index in the last dim.
static __device__ i64 scale_before(const DecodeLaunch& l, i64 i, i64& column) {
  i64 at = 0;
  for (int d = l.dims - 1; d >= 0; --d) {
    const i64 rest = i / l.size[d], here = i - rest * l.size[d];
    if (d == l.dims - 1)
      column = here;
    else
      at += here / l.box[d] * l.stride[d];
    i = rest;
  }
  return at;
}

template <class T>
static __global__ void decode_kernel(DecodeLaunch l, const u8* codes, const float* scale_inv, T* to) {
  __shared__ float values[256];
  for (int code = int(threadIdx.x); code < 256; code += kDecodeThreads) values[code] = value_of_code(l.from, u32(code));
  __syncthreads();
  const i64 last = l.size[l.dims - 1], box = l.box[l.dims - 1], stride = l.stride[l.dims - 1];
  for (i64 i = (i64(blockIdx.x) * kDecodeThreads + threadIdx.x) * kDecodedTogether; i < l.n;
       i += i64(gridDim.x) * kDecodeThreads * kDecodedTogether) {
    i64 column = 0, before = scale_before(l, i, column);
    for (int k = 0; k < kDecodedTogether && i + k < l.n; ++k, ++column) {
      if (column == last) before = scale_before(l, i + k, column);
      to[i + k] = T(values[codes[i + k]] * scale_inv[before + column / box * stride]);
    }
  }
}

void launch(const DecodeLaunch& l, const std::byte* codes, const float* scale_inv, std::byte* to, cudaStream_t stream) {
  if (l.n == 0) return;
  const i64 groups = (l.n + kDecodedTogether - 1) / kDecodedTogether;
  const int blocks = int(std::min<i64>((groups + kDecodeThreads - 1) / kDecodeThreads, 1 << 20));
  const u8* from = reinterpret_cast<const u8*>(codes);
  dispatch(l.to, [&]<class T>() {
    decode_kernel<<<blocks, kDecodeThreads, 0, stream>>>(l, from, scale_inv, reinterpret_cast<T*>(to));
  });
  check_launch("[quantized_product] decoding");
}

static __global__ void order_kernel(OrderLaunch l, const float* scale_inv, float* to) {
  const i64 i = i64(blockIdx.x) * kDecodeThreads + threadIdx.x, row = i / l.pitch, column = i - row * l.pitch;
  if (row >= l.rows) return;
  const i64 part = row / l.rows_of_part, from = part * l.part_stride + (row - part * l.rows_of_part) * l.row_stride;
  to[i] = column < l.columns ? scale_inv[from + column * l.column_stride] : 0;
}

void launch(const OrderLaunch& l, const float* scale_inv, float* to, cudaStream_t stream) {
  const i64 n = l.rows * l.pitch;
  if (n == 0) return;
  order_kernel<<<int((n + kDecodeThreads - 1) / kDecodeThreads), kDecodeThreads, 0, stream>>>(l, scale_inv, to);
  check_launch("[quantized_product] scales");
}

}  // namespace megalith::cuda
