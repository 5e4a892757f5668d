#include "exec/cuda_needs/norm_shape.h"

#include <algorithm>

namespace megalith::cuda {

// Rows of up to 512 elements, in the forward 1024, use a warp or less, so they need no barrier. Longer rows use a
// block. (The gradient of a whole row in a warp would need too many registers.) Two cases use the kernel for any size:
// rows that do not fit in registers or shared memory, and weights of another type than x.
NormBlock norm_block(const NormShape& s, int inputs, const NormDevice& device) {
  const i64 h = s.h, size = size_of(s.x);
  const int any = int(std::min<i64>((h + 31) / 32 * 32, 512));
  if (h % (16 / size) != 0 || h > 16384 || s.w != s.x) return {0, any, any};
  NormBlock b{16, 1, 256};
  if (h <= 512)
    while (b.lanes * b.per < h) b.lanes *= 2;
  else if (h <= 1024 && inputs == 1)
    b.per = h <= 768 ? 24 : 32, b.lanes = 32;
  else
    b.per = h <= 4096 ? 16 : 32, b.lanes = b.threads = int((h + b.per * 32 - 1) / (b.per * 32) * 32);
  const int own = inputs * b.per * int(size);
  const bool fits = i64(norm_depth(own)) * own * b.threads <= device.shared - kNormStaticShared &&
                    b.threads <= norm_threads(b.per, int(size));
  return fits ? b : NormBlock{0, any, any};
}

// The gradient on Hopper: bf16 rows of whole packs of 8 that take more than a warp. Up to 2048 elements rows are
// processed in pairs, so their number must be even.
NormRing norm_ring(const NormShape& s, const NormDevice& device) {
  NormRing r{s.h <= 2048 ? 1 : 2};
  const bool fits = s.x == DType::bf16 && s.w == s.x && s.h > 512 && s.h <= 8192 && s.h % 8 == 0;
  if (device.capability != 90 || !fits || s.rows % r.rows() != 0) return {};
  const i64 warp = 32 * 8 * r.packs;  // elements
  r.lanes = int((s.h + warp - 1) / warp * 32), r.groups = NormRing::kThreads / r.lanes;
  return r;
}

NormBlock norm_grad_block(const NormShape& s, const NormDevice& device) { return norm_block(s, 3, device); }

bool adds_up_bias(const NormShape& s, const NormDevice& device) {
  return size_of(s.x) == 2 && (norm_grad_block(s, device).per == 16 || norm_ring(s, device).packs > 0);
}

int norm_ring_blocks(const NormShape& s, const NormRing& ring, const NormDevice& device) {
  const i64 each = i64(ring.groups) * ring.rows();
  return int(std::max<i64>(1, std::min<i64>(device.sms, (s.rows + each - 1) / each)));
}

int enough_norm_blocks(const NormBlock& b) {
  constexpr int kElements = 8192, kThreads = 2048;  // a multiprocessor
  return (b.per > 0 ? kElements / b.per : kThreads) / b.threads;
}

int norm_blocks(const NormBlock& b, int fit, const NormDevice& device, i64 rows) {
  const i64 groups = b.threads / b.lanes, work = (rows + groups - 1) / groups;
  const int each = std::max(1, std::min(fit, enough_norm_blocks(b)));
  return int(std::max<i64>(1, std::min<i64>(i64(each) * device.sms, work)));
}

i64 norm_grad_workspace(const NormShape& s, int sums, int blocks) {
  return i64(sums) * blocks * s.h * i64(sizeof(float));
}

}  // namespace megalith::cuda
