// Kernels of accumulation and update over many tensors, in one launch each.
#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/update/optimizer.h"
#include "exec/cuda/kernels/update/update.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const MultiAccumulate& op, const KernelContext& context) {
  std::vector<AccumulateItem> items;
  for (int i = 0; i < op.tensors; ++i) {
    for (int in : {2 * i, 2 * i + 1}) check_dtype(op.name, context.ins[size_t(in)].dtype, {DType::f32});
    items.push_back({nullptr, nullptr, count(context.in_shape(2 * i))});
  }
  return {0, [items, starts = op.starts](const Args& a) mutable {
            for (size_t i = 0; i < items.size(); ++i)
              items[i].sum = a.out<float>(int(i)), items[i].x = a.in<float>(2 * int(i) + 1);
            launch_accumulate(items, starts && a.first_micro_batch, a.stream);
          }};
}

Kernel prepare(const MultiSumSquares& op, const KernelContext& context) {
  std::vector<SquaresItem> items;
  for (int i = 0; i < int(context.ins.size()); ++i) {
    check_dtype(op.name, context.ins[size_t(i)].dtype, {context.ins[0].dtype});
    items.push_back({nullptr, count(context.in_shape(i))});
  }
  check_activation(op.name, context.ins[0].dtype);
  return {sum_squares_partials(items) * i64(sizeof(double)),
          [items, dtype = context.ins[0].dtype](const Args& a) mutable {
            for (size_t i = 0; i < items.size(); ++i) items[i].x = a.ins[i];
            launch_sum_squares(dtype, items, reinterpret_cast<double*>(a.workspace), a.out<double>(0), a.stream);
          }};
}

Kernel prepare(const MultiUpdate& op, const KernelContext& context) {
  const int states = states_of(op.rule);
  std::vector<i64> counts;
  UpdateTypes types;
  for (int p = 0; p < op.parameters(); ++p) {
    const size_t first = size_t(p * op.ins_each());
    std::vector<DType> ins;
    for (size_t i = 0; i < size_t(op.ins_each()); ++i) ins.push_back(context.ins[first + i].dtype);
    const UpdateTypes each = update_types(op.name, std::span(ins).first(size_t(2 + states)),
                                          op.copy ? std::optional(ins.back()) : std::nullopt);
    check(p == 0 || each == types, "[{}] parameter {} is kept in another way than those before it", op.name, p);
    types = each;
    counts.push_back(count(context.in_shape(int(first))));
  }
  return {0, [l = UpdateLaunch{op.rule, types}, counts, op, states](const Args& a) {
            std::vector<UpdateItem> items;
            for (int p = 0; p < op.parameters(); ++p) {
              const int in = p * op.ins_each(), out = p * op.outs_each();
              void* copy = op.copy ? a.outs[size_t(out + 1 + states)] : nullptr;
              UpdateItem item{a.outs[size_t(out)], a.ins[size_t(in + 1)], {}, copy,
                              counts[size_t(p)],   op.decay[size_t(p)]};
              for (int k = 0; k < states; ++k) item.states[k] = a.outs[size_t(out + 1 + k)];
              items.push_back(item);
            }
            const int numbers = op.parameters() * op.ins_each();
            launch(l, items, {a.in<double>(numbers), a.in<double>(numbers + 1)}, a.stream);
          }};
}

}  // namespace megalith::cuda
