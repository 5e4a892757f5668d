// Kernels of AdamW and Sgd: lists of one parameter.
#include "exec/cuda/kernels/update/optimizer.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/supported.h"

namespace megalith::cuda {

static_assert(kLrAt == hyper::kLr && kWeightDecayAt == hyper::kWeightDecay && kCorrection1At == hyper::kCorrection1 &&
              kCorrection2At == hyper::kCorrection2);
static_assert(kFactorAt == step_scalar::kFactor && kCountsAt == step_scalar::kCounts);

WeightTypes weight_types(std::string_view op, std::span<const DType> state, std::optional<DType> copy) {
  const bool split = state[0] == DType::u16;
  for (const DType t : state.subspan(split ? 1 : 0)) check_dtype(op, t, {DType::f32});
  if (!copy && !split) return {};
  check(copy.has_value(), "[{}] weights without the copy that they are split from", op);
  check_activation(op, *copy);
  if (split) check_dtype(op, *copy, {DType::bf16});
  return {*copy, split};
}

// `states`: w, g and the moments; `copy`: its input, or -1.
static WeightTypes types_of(std::string_view op, const Site& site, int states, int copy) {
  std::vector<DType> state;
  for (int i = 0; i < states; ++i) state.push_back(site.ins[size_t(i)].dtype);
  return weight_types(op, state, copy < 0 ? std::nullopt : std::optional(site.ins[size_t(copy)].dtype));
}

Kernel prepare(const AdamW& op, const Site& site) {
  const AdamWLaunch l{op.beta1, op.beta2, op.eps, types_of(op.name, site, 4, op.copy ? 6 : -1)};
  const i64 n = count(site.in_shape(0)), width = op.marks ? n / std::max<i64>(1, site.in_shape(0)[0]) : 0;
  return {0, [l, n, width, op](const Args& a) {
            UpdateItem item{a.outs[0], a.in<float>(1), a.out<float>(1), a.out<float>(2), op.copy ? a.outs[3] : nullptr,
                            n,         op.decay};
            if (op.marks) item.marks = a.in<u8>(op.copy ? 7 : 6), item.width = width;
            launch(l, {&item, 1}, {a.in<double>(4), a.in<double>(5)}, a.stream);
          }};
}

Kernel prepare(const Sgd& op, const Site& site) {
  const SgdLaunch l{op.momentum, types_of(op.name, site, 3, op.copy ? 5 : -1)};
  return {0, [l, n = count(site.in_shape(0)), op](const Args& a) {
            const UpdateItem item{a.outs[0], a.in<float>(1), a.out<float>(1), nullptr, op.copy ? a.outs[2] : nullptr,
                                  n,         op.decay};
            launch(l, {&item, 1}, {a.in<double>(3), a.in<double>(4)}, a.stream);
          }};
}

}  // namespace megalith::cuda
