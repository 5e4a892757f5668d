// Kernels of Accumulate, SumSquares and StepScalars.
#include <cmath>

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

namespace {

double number(DType type, const std::byte* x) {
  return dispatch_float(type, [&]<class X>() { return double(*reinterpret_cast<const X*>(x)); });
}

void step_scalars(double clip, double squares, double loss, double tokens, double* out) {
  const double mean = loss / tokens, norm = std::sqrt(squares) / tokens;
  const bool counts = std::isfinite(mean) && std::isfinite(norm);
  const double clipped = clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0;
  out[step_scalar::kLoss] = mean;
  out[step_scalar::kGradNorm] = norm;
  out[step_scalar::kFactor] = counts ? clipped / tokens : 0;
  out[step_scalar::kCounts] = counts;
}

}  // namespace

Kernel prepare(const Accumulate& op, const Site& site) {
  return dispatch_float(site.ins[0].dtype, [&]<class X>() -> Kernel {
    return {0, [n = count(site.in_shape(0)), starts = op.starts](const Args& a) {
              const X* x = a.in<X>(1);
              X* sum = a.out<X>(0);
              const bool set = starts && a.first_micro_batch;
              parallel_blocks(n, [&](i64 begin, i64 end) {
                if (set)
                  map(end - begin, kSame, sum + begin, x + begin);
                else
                  map(end - begin, kPlus, sum + begin, sum + begin, x + begin);
              });
            }};
  });
}

Kernel prepare(const SumSquares&, const Site& site) {
  const i64 n = count(site.in_shape(0));
  return dispatch_float(site.ins[0].dtype, [&]<class X>() -> Kernel {
    return {sum_parts(n) * i64(sizeof(double)), [n](const Args& a) {
              const X* x = a.in<X>(0);
              *a.out<double>(0) = sum_in_parts(n, reinterpret_cast<double*>(a.workspace), [&](i64 begin, i64 end) {
                return sum_of_products(x + begin, x + begin, end - begin);
              });
            }};
  });
}

Kernel prepare(const StepScalars& op, const Site& site) {
  const std::array<DType, 3> types = {site.ins[0].dtype, site.ins[1].dtype, site.ins[2].dtype};
  return {0, [clip = op.clip, types](const Args& a) {
            step_scalars(clip, number(types[0], a.ins[0]), number(types[1], a.ins[1]), number(types[2], a.ins[2]),
                         a.out<double>(0));
          }};
}

}  // namespace megalith::cpu
