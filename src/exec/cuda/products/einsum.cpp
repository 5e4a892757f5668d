// Kernels of Einsum: matrix products by the library (gemm.h), all other einsums by loops.
#include "exec/cuda/products/einsum.h"

#include <optional>

#include "exec/cuda/kernel.h"
#include "exec/cuda/products/gemm.h"
#include "exec/cuda/products/parts.h"
#include "exec/cuda_needs/parts_product.h"
#include "exec/cuda_needs/supported.h"
#include "ops/einsum_plan.h"

namespace megalith::cuda {

namespace {

// The terms added to the product: none, y itself or c; and an optional bias.
struct Adds {
  bool accumulate, starts, plus, bias;

  bool any() const { return accumulate || plus; }
  const std::byte* operator()(const Args& a) const {
    if (plus) return a.ins[2];
    return accumulate && !(a.first_micro_batch && starts) ? a.outs[0] : nullptr;
  }
  const std::byte* bias_of(const Args& a) const { return bias ? a.ins.back() : nullptr; }
};

std::optional<Kernel> by_library(const Einsum& op, const EinsumPlan& plan, Adds adds, const KernelContext& context) {
  const std::array<i64, 3> bytes = {size_of(context.ins[0].dtype), size_of(context.ins[1].dtype),
                                    size_of(context.outs[0].dtype)};
  const std::optional<GemmProblem> problem = product_of(op, plan, context);
  if (!problem) return {};
  const ProductBatch batch = split_batch(plan.outer);
  const std::shared_ptr<Gemm> gemm = shared_gemm(context.device, *problem);
  if (!gemm->possible()) return {};
  const auto args = [=](const Args& a, i64 call) {
    const auto at = offsets(batch.calls, call);
    const std::byte *x = a.ins[0] + at[0] * bytes[0], *w = a.ins[1] + at[1] * bytes[1];
    const std::byte* plus = adds(a);
    GemmArgs g{plan.swapped ? w : x, plan.swapped ? x : w, a.outs[0] + at[2] * bytes[2]};
    g.plus = plus ? plus + at[2] * bytes[2] : nullptr, g.bias = adds.bias_of(a), g.workspace = a.workspace,
    g.stream = a.stream;
    return g;
  };
  const auto run = [=](const Args& a) {
    for (i64 call = 0; call < size_of(batch.calls); ++call) gemm->run(args(a, call));
  };
  const std::array<i64, 3> counts = {count(context.in_shape(0)), count(context.in_shape(1)),
                                     count(context.out_shape(0))};
  const std::array<DType, 3> types = {context.ins[0].dtype, context.ins[1].dtype, context.outs[0].dtype};
  const auto tune = [=](Args a) {
    if (!gemm->chosen()) {
      fill_normal(a.ins[0], types[0], counts[0], 1, a.stream), fill_normal(a.ins[1], types[1], counts[1], 2, a.stream);
      fill_normal(a.outs[0], types[2], counts[2], 3, a.stream);
      if (adds.plus) fill_normal(a.ins[2], types[2], counts[2], 4, a.stream);
      if (adds.bias) fill_normal(a.ins.back(), types[2], plan.gemm.n, 5, a.stream);
    }
    a.first_micro_batch = false;
    gemm->tune(args(a, 0));
  };
  return Kernel{gemm->workspace(), run, tune};
}

// Three copies of b, one below the other.
void copy_thrice(const std::byte* b, std::byte* to, i64 bytes, cudaStream_t stream) {
  for (i64 at : {i64{0}, bytes, 2 * bytes})
    check_cuda(cudaMemcpyAsync(to + at, b, size_t(bytes), cudaMemcpyDeviceToDevice, stream), "[einsum] copies");
}

// The product of an f32 and a bf16 factor.
std::optional<Kernel> by_parts(const Einsum& op, const EinsumPlan& plan, Adds adds, const KernelContext& context) {
  const std::optional<GemmProblem> problem = product_of(op, plan, context);
  const std::optional<PartsProduct> parts = problem ? parts_product(*problem) : std::nullopt;
  if (!parts) return {};
  const PartsProduct p = *parts;
  const std::shared_ptr<Gemm> gemm = shared_gemm(context.device, p.product);
  if (!gemm->possible()) return {};
  const GemmSpec& s = problem->spec;
  const auto args = [=, copy = p.copies / 3 * size_of(DType::bf16)](const Args& a) {
    std::byte *split = a.workspace, *beside = split + p.parts_bytes();
    const std::byte *f = a.ins[plan.swapped ? 1 : 0], *b = a.ins[plan.swapped ? 0 : 1];
    launch_split(p.rows, p.columns, reinterpret_cast<const float*>(f), split, a.stream);
    if (!p.adds_parts) copy_thrice(b, beside, copy, a.stream);
    GemmArgs g{split, p.adds_parts ? b : beside, p.adds_parts ? beside : a.outs[0]};
    g.plus = p.adds_parts ? nullptr : adds(a), g.workspace = a.workspace + p.bytes(), g.stream = a.stream;
    return g;
  };
  const auto run = [=, n = s.m * s.n, dtype = s.c.dtype](const Args& a) {
    const GemmArgs g = args(a);
    gemm->run(g);
    if (p.adds_parts) launch_add_parts(n, 3, reinterpret_cast<const float*>(g.y), adds(a), a.outs[0], dtype, a.stream);
  };
  const auto tune = [=, m = s.m * s.k, n = s.k * s.n, y = s.m * s.n, dtype = s.c.dtype](Args a) {
    if (!gemm->chosen()) {
      fill_normal(a.ins[plan.swapped ? 1 : 0], DType::f32, m, 1, a.stream);
      fill_normal(a.ins[plan.swapped ? 0 : 1], DType::bf16, n, 2, a.stream);
      fill_normal(a.outs[0], dtype, y, 3, a.stream);
      if (adds.plus) fill_normal(a.ins[2], dtype, y, 4, a.stream);
    }
    a.first_micro_batch = false;
    gemm->tune(args(a));
  };
  return Kernel{p.bytes() + gemm->workspace(), run, tune};
}

EinsumLoops loops_of(const std::vector<Loop>& loops) {
  check(loops.size() <= kMaxEinsumLoops, "[einsum] {} loops, at most {} are supported", loops.size(), kMaxEinsumLoops);
  EinsumLoops all{int(loops.size()), size_of(loops)};
  for (size_t i = 0; i < loops.size(); ++i) {
    all.size[i] = loops[i].n;
    all.x[i] = loops[i].stride[0], all.w[i] = loops[i].stride[1], all.y[i] = loops[i].stride[2];
  }
  return all;
}

// bias_n: elements of the bias, which covers y's last letters.
Kernel by_loops(const EinsumOperands& operands, Adds adds, i64 bias_n) {
  for (DType t : operands.dtypes) check_number("einsum", t);
  std::vector<Loop> outer, inner;
  for (const Loop& l : make_loops({operands.x, operands.w, operands.y})) (l.stride[2] ? outer : inner).push_back(l);
  const EinsumLaunch l{operands.dtypes[0], operands.dtypes[1], operands.dtypes[2],
                       loops_of(outer),    loops_of(inner),    bias_n};
  return {0, [=](const Args& a) { launch(l, {a.ins[0], a.ins[1], a.outs[0], adds(a), adds.bias_of(a)}, a.stream); }};
}

}  // namespace

Kernel prepare(const Einsum& op, const KernelContext& context) {
  const EinsumOperands operands = operands_of(op, context);
  const EinsumPlan plan = plan_einsum(operands);
  const Adds adds{op.accumulate, op.starts, op.plus, op.bias};
  if (plan.kind == EinsumPlan::kNothing) return {0, [](const Args&) {}};
  if (plan.kind == EinsumPlan::kGemm) {
    if (auto kernel = by_library(op, plan, adds, context)) return *kernel;
    if (auto kernel = by_parts(op, plan, adds, context)) return *kernel;
  }
  if (op.bias)
    check(context.ins.back().dtype == context.outs[0].dtype, "[einsum] a bias of {} for a result of {}: want the same",
          name_of(context.ins.back().dtype), name_of(context.outs[0].dtype));
  return by_loops(operands, adds, op.bias ? count(context.in_shape(int(context.ins.size()) - 1)) : 1);
}

}  // namespace megalith::cuda
