// Kernels of Einsum, chosen by plan_einsum. They first write `plus` and `bias` to y, then add the product.
#include <cstring>

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/matmul.h"
#include "exec/cpu/kernels/strided.h"
#include "ops/einsum_plan.h"

namespace megalith::cpu {

namespace {

// True if the product is added to y, false if it overwrites y.
struct Adds {
  bool accumulate, starts;
  bool operator()(const Args& a) const { return accumulate && !(a.first_micro_batch && starts); }
};

Kernel by_gemm(const EinsumPlan& plan, Adds adds, const std::array<i64, 3>& bytes) {
  const MatMul product = make_matmul(plan.gemm);
  return {product.workspace, [=](const Args& a) {
            for (i64 i = 0; i < size_of(plan.outer); ++i) {
              const auto at = offsets(plan.outer, i);
              const std::byte *x = a.ins[0] + at[0] * bytes[0], *w = a.ins[1] + at[1] * bytes[1];
              product.run(plan.swapped ? w : x, plan.swapped ? x : w, a.outs[0] + at[2] * bytes[2], adds(a),
                          a.workspace);
            }
          }};
}

// y = x * w, all of one shape.
template <class X, class W, class Y>
Kernel by_multiply(const EinsumPlan& plan, Adds adds) {
  return {0, [n = plan.outer[0].n, adds](const Args& a) {
            const X* x = a.in<X>(0);
            const W* w = a.in<W>(1);
            Y* y = a.out<Y>(0);
            const bool add = adds(a);
            parallel_blocks(n, [&](i64 begin, i64 end) {
              const X* xs = x + begin;
              const W* ws = w + begin;
              Y* ys = y + begin;
              if (add)
                map(
                    end - begin, [](auto old, auto a, auto b) { return old + a * b; }, ys, ys, xs, ws);
              else
                map(end - begin, kTimes, ys, xs, ws);
            });
          }};
}

// Element i of y becomes `sum`, or grows by it.
void put(std::byte* y, DType dtype, i64 i, double sum, bool add) {
  dispatch_float(dtype, [&]<class Y>() {
    Y& to = reinterpret_cast<Y*>(y)[i];
    to = Y(add ? double(to) + sum : sum);
  });
}

// One number: the sum of x * w.
template <class X, class W>
Kernel by_dot(const EinsumPlan& plan, Adds adds, DType y) {
  const i64 n = plan.inner[0].n;
  return {sum_parts(n) * i64(sizeof(double)), [n, adds, y](const Args& a) {
            const X* x = a.in<X>(0);
            const W* w = a.in<W>(1);
            const double sum = sum_in_parts(n, reinterpret_cast<double*>(a.workspace), [&](i64 begin, i64 end) {
              return sum_of_products(x + begin, w + begin, end - begin);
            });
            put(a.outs[0], y, 0, sum, adds(a));
          }};
}

// Any strides. The index of each element takes longer than the choice by its type.
Kernel by_loops(const EinsumPlan& plan, Adds adds, const std::array<DType, 3>& types) {
  return {0, [outer = plan.outer, inner = plan.inner, adds, types](const Args& a) {
            const auto value = [&](int of, i64 i) {
              return dispatch_float(types[size_t(of)], [&]<class T>() { return double(a.in<T>(of)[i]); });
            };
            const bool add = adds(a);
            parallel_for(size_of(outer), 16, [&](i64 i) {
              const auto at = offsets(outer, i);
              double sum = 0;
              for (i64 k = 0; k < size_of(inner); ++k) {
                const auto by = offsets(inner, k);
                sum += value(0, at[0] + by[0]) * value(1, at[1] + by[1]);
              }
              put(a.outs[0], types[2], at[2], sum, add);
            });
          }};
}

// Whether T is among the types.
template <class T, class... X>
constexpr bool kHas = (std::is_same_v<T, X> || ...);

// y = x * w, or y + x * w.
Kernel product(const Einsum& op, const KernelContext& context, Adds adds) {
  const auto [ins, outs] = split_spec(op.spec);
  const std::array<DType, 3> types = {context.ins[0].dtype, context.ins[1].dtype, context.outs[0].dtype};
  const EinsumPlan plan = plan_einsum(
      {{ins[0], context.in_shape(0)}, {ins[1], context.in_shape(1)}, {outs[0], context.out_shape(0)}, types});
  if (plan.kind == EinsumPlan::kNothing) return {0, [](const Args&) {}};
  if (plan.kind == EinsumPlan::kGemm)
    return by_gemm(plan, adds, {size_of(types[0]), size_of(types[1]), size_of(types[2])});
  if (plan.kind != EinsumPlan::kMultiply && plan.kind != EinsumPlan::kDot) return by_loops(plan, adds, types);
  return dispatch_float(types[0], [&]<class X>() {
    return dispatch_float(types[1], [&]<class W>() {
      if (plan.kind == EinsumPlan::kDot) return by_dot<X, W>(plan, adds, types[2]);
      return dispatch_float(types[2], [&]<class Y>() -> Kernel {
        if constexpr (kHas<bf16, X, W, Y> && kHas<f16, X, W, Y>)
          fail("[einsum] {}: bf16 and f16 in one product", op.spec);
        else
          return by_multiply<X, W, Y>(plan, adds);
      });
    });
  });
}

// y = c, y = bias or y = c + bias.
Kernel addends(const Einsum& op, const KernelContext& context) {
  const Type& y = context.outs[0];
  if (!op.bias)
    return {0, [bytes = count(context.out_shape(0)) * size_of(y.dtype)](const Args& a) {
              if (a.outs[0] == a.ins[2]) return;
              parallel_blocks(bytes, [&](i64 b, i64 e) { std::memcpy(a.outs[0] + b, a.ins[2] + b, size_t(e - b)); });
            }};
  const Type& bias = context.ins.back();
  const auto [sides, ys] = split_spec(op.bias_rule(bias.ndim()).spec);
  if (op.plus) {
    const Kernel sum =
        prepare(Add{op.bias_rule(bias.ndim()).spec}, KernelContext{context.mesh, context.coord, {y, bias}, {y}});
    return {0, [sum](const Args& a) { sum.run({a.ins.subspan(2), a.outs, nullptr, false}); }};
  }
  const Broadcast fill{sides[1] + "," + ys[0] + "->" + ys[0], y.dtype};
  const Kernel copies = prepare(fill, KernelContext{context.mesh, context.coord, {bias, y}, {y}});
  return {0, [copies](const Args& a) { copies.run({a.ins.subspan(2), a.outs, nullptr, false}); }};
}

}  // namespace

Kernel prepare(const Einsum& op, const KernelContext& context) {
  if (!op.plus && !op.bias) return product(op, context, {op.accumulate, op.starts});
  const Kernel first = addends(op, context), then = product(op, context, {.accumulate = true, .starts = false});
  return {then.workspace, [first, then](const Args& a) {
            first.run(a);
            then.run(a);
          }};
}

}  // namespace megalith::cpu
