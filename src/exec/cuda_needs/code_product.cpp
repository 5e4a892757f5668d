#include "exec/cuda_needs/code_product.h"

namespace megalith::cuda {

bool has_two_scales(const QuantizedProduct& op, const LocalNode& node) {
  return op.x_format != CodeFormat::e2m1 && count(node.in_shape(1)) == 1 && count(node.in_shape(3)) == 1;
}

std::optional<CodeProduct> code_product(const QuantizedProduct& op, const LocalNode& node) {
  const auto [ins, outs] = split_spec(op.spec);
  const Shape x = node.in_shape(0), w = node.in_shape(2), y = node.out_shape(0);
  if (count(y) == 0) return {};
  const EinsumPlan plan =
      plan_einsum({{ins[0], x}, {ins[1], w}, {outs[0], y}, {node.ins[0].dtype, node.ins[2].dtype, node.outs[0].dtype}});
  CodeProduct out{{plan.gemm}, plan.swapped};
  out.problem.adds = op.accumulate || op.plus, out.problem.fast = op.fast;
  check(plan.kind == EinsumPlan::kGemm && plan.outer.empty() && is_library_kind(out.problem),
        "[{}] {} of {} and {} is no product of fp8 on GPUs: they sum over multiples of 16 numbers, and a rank's "
        "features are multiples of 16: give sizes and a micro-batch of such, or --device cpu",
        op.name, op.spec, megalith::to_string(x), megalith::to_string(w));
  return out;
}

DecodedProduct decoded_product(const QuantizedProduct& op, const LocalNode& node) {
  DecodedProduct out;
  out.dtype = op.x_format == CodeFormat::e2m1 ? DType::f32 : DType::bf16;
  out.product = {op.spec, op.dtype, op.accumulate, op.starts, op.plus};
  out.ins = {node.ins[0], node.ins[2]};
  for (Type& t : out.ins) t.dtype = out.dtype;
  if (op.accumulate || op.plus) out.ins.push_back(node.ins[4]);
  const auto bytes = [&](int i) { return (count(node.in_shape(i)) * size_of(out.dtype) + 255) / 256 * 256; };
  out.x_bytes = bytes(0), out.w_bytes = bytes(2);
  return out;
}

}  // namespace megalith::cuda
