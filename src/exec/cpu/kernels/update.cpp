// Kernels of Accumulate, SumSquares, CountNonzeros and StepScalars.
#include <cmath>
#include <cstring>

#include "base/split_float.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"
#include "exec/cpu/vector.h"

namespace megalith::cpu {

namespace {

double number(DType type, const std::byte* x) {
  return dispatch_float(type, [&]<class X>() { return double(*reinterpret_cast<const X*>(x)); });
}

template <class X>
double sum_of_squares(const X* x, i64 n) {
  return sum_of_products(x, x, n);
}

// For f32 gradients: four vectors of f64 sums, and prefetches of the next page's lines. From cache on two cores it
// reads 50 GB/s; the plain loop reads 35 GB/s.
double sum_of_squares(const float* x, i64 n) {
  constexpr i64 kLanes = kVectorBytes / i64(sizeof(double)), kStep = 4 * kLanes, kAhead = 1024;
  using Narrow = VectorOf<float, kVectorBytes / 2>::type;
  Vec<double> sums[4] = {};
  i64 i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (i64 line = 0; line < kStep; line += 16) __builtin_prefetch(x + i + kAhead + line);
    for (i64 k = 0; k < 4; ++k) {
      Narrow part;
      std::memcpy(&part, x + i + k * kLanes, sizeof part);
      const auto wide = __builtin_convertvector(part, Vec<double>);
      sums[k] += wide * wide;
    }
  }
  const Vec<double> sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total = 0;
  for (i64 k = 0; k < kLanes; ++k) total += sum[k];
  for (; i < n; ++i) total += double(x[i]) * double(x[i]);
  return total;
}

// inverse: that of the loss scale.
void step_scalars(double clip, double squares, double loss, double tokens, double inverse, double* out) {
  const double divisor = std::max(tokens, 1.0);  // if no token counts, loss and gradients are 0, not 0 / 0
  const double mean = loss / divisor, norm = std::sqrt(squares) * inverse / divisor;
  const bool counts = std::isfinite(mean) && std::isfinite(norm);
  const double clipped = clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0;
  out[step_scalar::kLoss] = mean;
  out[step_scalar::kGradNorm] = norm;
  out[step_scalar::kFactor] = counts ? clipped * inverse / divisor : 0;
  out[step_scalar::kCounts] = counts;
}

}  // namespace

// Counters start from the model's value and accumulate over steps.
static Kernel count_up(const Accumulate& op, i64 n) {
  check(!op.starts, "sums of integers continue from step to step");
  return {0, [n](const Args& a) {
            const i32* x = a.in<i32>(1);
            i32* sum = a.out<i32>(0);
            for (i64 i = 0; i < n; ++i) sum[i] += x[i];
          }};
}

Kernel prepare(const Accumulate& op, const KernelContext& context) {
  if (context.ins[0].dtype == DType::i32) return count_up(op, count(context.in_shape(0)));
  return dispatch_float(context.ins[0].dtype, [&]<class X>() -> Kernel {
    return {0, [n = count(context.in_shape(0)), starts = op.starts](const Args& a) {
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

// The sum of squares of f32 numbers that are stored as two halves. It joins kAtOnce numbers at a time.
static Kernel squares_of_joined(i64 n) {
  return {sum_parts(n) * i64(sizeof(double)), [n](const Args& a) {
            const bf16* near = a.in<bf16>(0);
            const u16* rest = a.in<u16>(1);
            *a.out<double>(0) = sum_in_parts(n, reinterpret_cast<double*>(a.workspace), [&](i64 begin, i64 end) {
              constexpr i64 kAtOnce = 1024;
              float joined[kAtOnce];
              double sum = 0;
              for (i64 i = begin; i < end; i += kAtOnce) {
                const i64 some = std::min(kAtOnce, end - i);
                for (i64 k = 0; k < some; ++k) joined[k] = join_float(near[i + k], rest[i + k]);
                sum += sum_of_products(joined, joined, some);
              }
              return sum;
            });
          }};
}

Kernel prepare(const CountNonzeros&, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class X>() -> Kernel {
    const i64 n = count(context.in_shape(0));
    return {sum_parts(n) * i64(sizeof(double)), [n](const Args& a) {
              const X* x = a.in<X>(0);
              *a.out<double>(0) = sum_in_parts(n, reinterpret_cast<double*>(a.workspace), [&](i64 begin, i64 end) {
                i64 found = 0;
                for (i64 i = begin; i < end; ++i) found += double(x[i]) != 0;
                return double(found);
              });
            }};
  });
}

Kernel prepare(const SumSquares& op, const KernelContext& context) {
  if (op.rest) return squares_of_joined(count(context.in_shape(0)));
  const i64 n = count(context.in_shape(0)), width = op.marks ? n / std::max<i64>(1, context.in_shape(0)[0]) : 0;
  return dispatch_float(context.ins[0].dtype, [&]<class X>() -> Kernel {
    return {sum_parts(n) * i64(sizeof(double)), [n, width, op](const Args& a) {
              const X* x = a.in<X>(0);
              const u8* marks = op.marks ? a.in<u8>(1) : nullptr;
              *a.out<double>(0) = sum_in_parts(n, reinterpret_cast<double*>(a.workspace), [&](i64 begin, i64 end) {
                if (!marks) return sum_of_squares(x + begin, end - begin);
                double sum = 0;
                for_rows(begin, end, width, [&](i64 row, i64 i, i64 some) {
                  if (marks[row]) sum += sum_of_squares(x + i, some);
                });
                return sum;
              });
            }};
  });
}

Kernel prepare(const StepScalars& op, const KernelContext& context) {
  const std::array<DType, 3> types = {context.ins[0].dtype, context.ins[1].dtype, context.ins[2].dtype};
  const auto decide = [clip = op.clip, types](const Args& a, double inverse) {
    step_scalars(clip, number(types[0], a.ins[0]), number(types[1], a.ins[1]), number(types[2], a.ins[2]), inverse,
                 a.out<double>(0));
  };
  if (!op.scaling) return {0, [decide](const Args& a) { decide(a, 1); }};
  return {0, [decide, s = *op.scaling](const Args& a) {
            double* state = a.out<double>(1);
            quant::LossScale scale = loss_scale_state::read(s.rule, state);
            decide(a, double(scale.inverse()) / s.unit);
            if (s.constant) return;
            scale.update(s.rule, a.out<double>(0)[step_scalar::kCounts] == 0);
            loss_scale_state::write(scale, state);
          }};
}

}  // namespace megalith::cpu
