#include "exec/cuda_needs/code_product.h"

#include <algorithm>

namespace megalith::cuda {

bool has_two_scales(const QuantizedProduct& op, const LocalNode& node) {
  return op.x_format != CodeFormat::e2m1 && count(node.in_shape(1)) == 1 && count(node.in_shape(3)) == 1;
}

namespace {

CodeProduct described(const QuantizedProduct& op, const LocalNode& node, EinsumPlan& plan) {
  const auto [ins, outs] = split_spec(op.spec);
  plan = plan_einsum({{ins[0], node.in_shape(0)},
                      {ins[1], node.in_shape(2)},
                      {outs[0], node.out_shape(0)},
                      {node.ins[0].dtype, node.ins[2].dtype, node.outs[0].dtype}});
  CodeProduct out{{plan.gemm}, plan.swapped, {}, {}};
  out.problem.adds = op.accumulate || op.plus, out.problem.fast = op.fast;
  return out;
}

// The number of consecutive elements of a box along the dims [from, to), seen as one dim. 0 if a box's elements are not
// consecutive, or boxes differ.
i64 neighbours(const Shape& size, const Shape& box, size_t from, size_t to) {
  i64 n = 1;
  bool whole = true;
  for (size_t d = to; d-- > from; n *= box[d]) {
    if (!whole && box[d] != 1) return 0;
    if (box[d] == size[d]) continue;
    if (size[d] % box[d] != 0) return 0;
    whole = false;
  }
  return n;
}

i64 filled_to_4(i64 n) { return (n + 3) / 4 * 4; }

struct Scaled {
  CodeScales scales = CodeScales::one;  // one: boxes are not blocks of 128
  ScaleOrder order = {};
};

// An operand whose last `summed` dims are summed. `turn`: its transposition. The box is in the order before it.
Scaled blocks_of(const Shape& shape, Shape box, Turn turn, size_t summed) {
  constexpr i64 kBlock = 128;
  const int split = turn.split;
  if (split && size_t(split) != summed) return {};
  box = turn.of(box);
  const size_t rows = shape.size() - summed;
  const i64 down = neighbours(shape, box, 0, rows), along = neighbours(shape, box, rows, shape.size());
  if (along != kBlock || (down != 1 && down != kBlock)) return {};
  i64 height = 1, depth = 1;
  for (size_t d = 0; d < shape.size(); ++d) (d < rows ? height : depth) *= shape[d];
  const i64 high = height / down, deep = depth / kBlock;  // boxes
  const i64 down_stride = split ? 1 : deep, along_stride = split ? high : 1;
  ScaleOrder by_rows{deep, high, filled_to_4(high), along_stride, down_stride};
  if (turn.by_sequence && shape[rows] > 1)  // for [.., b, s] the scales are [s / 128, b, ..]
    by_rows.parts = shape[rows], by_rows.part_stride = high, by_rows.row_stride = high * shape[rows];
  if (down == 1) return {CodeScales::rows, by_rows};
  return {CodeScales::squares, {high, deep, filled_to_4(deep), down_stride, along_stride}};
}

}  // namespace

std::optional<CodeProduct> code_product(const QuantizedProduct& op, const LocalNode& node) {
  if (count(node.out_shape(0)) == 0) return {};
  EinsumPlan plan;
  const CodeProduct out = described(op, node, plan);
  check(plan.kind == EinsumPlan::kGemm && plan.outer.empty() && is_library_kind(out.problem),
        "[{}] {} of {} and {} is no product of fp8 on GPUs: they sum over multiples of 16 numbers, and a rank's "
        "features are multiples of 16: give multiples of 16, or --device cpu",
        op.name, op.spec, megalith::to_string(node.in_shape(0)), megalith::to_string(node.in_shape(2)));
  return out;
}

std::optional<CodeProduct> block_product(const QuantizedProduct& op, const LocalNode& node) {
  if (count(node.out_shape(0)) == 0 || op.x_format == CodeFormat::e2m1) return {};
  const auto [ins, outs] = split_spec(op.spec);
  EinsumPlan plan;
  CodeProduct out = described(op, node, plan);
  if (plan.kind != EinsumPlan::kGemm || !plan.outer.empty()) return {};
  const auto summed = [y = outs[0]](const std::string& letters) {
    return size_t(std::ranges::count_if(letters, [&](char c) { return y.find(c) == std::string::npos; }));
  };
  const Scaled x = blocks_of(node.in_shape(0), op.x_box, op.x_turn(), summed(ins[0])),
               w = blocks_of(node.in_shape(2), op.w_box, op.w_turn(), summed(ins[1]));
  if (x.scales == CodeScales::one || w.scales == CodeScales::one) return {};
  out.x = x.order, out.w = w.order;
  out.problem.a_scales = plan.swapped ? w.scales : x.scales, out.problem.b_scales = plan.swapped ? x.scales : w.scales;
  if (!is_library_kind(out.problem)) return {};
  return out;
}

DecodedProduct decoded_product(const QuantizedProduct& op, const LocalNode& node) {
  DecodedProduct out;
  out.dtype = op.x_format == CodeFormat::e2m1 ? DType::f32 : DType::bf16;
  out.product = {op.spec, op.dtype, op.accumulate, op.starts, op.plus};
  out.ins = {node.ins[0], node.ins[2]}, out.outs = {node.outs[0]};
  for (Type& t : out.ins) t.dtype = out.dtype;
  const auto bytes = [](const Shape& s, DType t) { return (count(s) * size_of(t) + 255) / 256 * 256; };
  out.x_bytes = bytes(node.in_shape(0), out.dtype), out.w_bytes = bytes(node.in_shape(2), out.dtype);
  const DType y = node.outs[0].dtype;
  if (y != out.dtype && y != DType::f32) {
    out.product = {op.spec, DType::f32}, out.outs[0].dtype = DType::f32;
    out.sums_bytes = bytes(node.out_shape(0), DType::f32);
  } else if (op.accumulate || op.plus) {
    out.ins.push_back(node.ins[4]);
  }
  return out;
}

}  // namespace megalith::cuda
