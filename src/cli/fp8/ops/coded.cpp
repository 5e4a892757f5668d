// fp8-check of a device's kernels: casts and products of codes with f32 scales.
#include <algorithm>

#include "cli/fp8/ops/checks.h"
#include "quant/blocks.h"
#include "quant/cast.h"

namespace megalith::fp8 {
namespace {

std::vector<float> turned_scales(const std::vector<float>& scales, i64 rows) {
  const i64 cols = i64(scales.size()) / rows;
  std::vector<float> out;
  for (i64 c = 0; c < cols; ++c)
    for (i64 r = 0; r < rows; ++r) out.push_back(scales[size_t(r * cols + c)]);
  return out;
}

// The op's box and scales have the order of its input.
Shape box_of(const CodedMatrix& m) { return m.turned ? Shape{m.width, m.height} : Shape{m.height, m.width}; }

std::vector<Array> op_inputs(const CodedMatrix& m) {
  const i64 down = quant::blocks_of(m.rows, m.height), across = quant::blocks_of(m.cols, m.width);
  const Shape grid = m.turned ? Shape{across, down} : Shape{down, across};
  return {array_of(dtype_of_codes(m.format), {m.rows, m.cols}, m.codes),
          array_of(DType::f32, grid, m.turned ? turned_scales(m.scale_inv, down) : m.scale_inv)};
}

float value_of(CodeFormat format, u8 code) {
  if (format == CodeFormat::e2m1) return quant::E2M1::decode(code);
  return format == CodeFormat::e5m2 ? quant::E5M2::decode(code) : quant::E4M3::decode(code);
}

}  // namespace

CodeFormat code_format(quant::Fp8 format) { return format == quant::Fp8::e5m2 ? CodeFormat::e5m2 : CodeFormat::e4m3; }

Array array_of(const Values& v) { return array_of(DType::bf16, {v.rows, v.cols}, v.at); }

quant::Operand CodedMatrix::operand() const {
  quant::Operand o = {.values = {}, .rows = rows, .k = cols, .scale_inv = {}, .height = height, .width = width};
  for (const u8 code : codes) o.values.push_back(value_of(format, code));
  o.scale_inv.assign(scale_inv.begin(), scale_inv.end());
  return o;
}

CodedBoth coded_by_op(const OpRunner& ops, const Quantize& op, const Values& v, const std::vector<Array>& amax) {
  Quantize both = op;
  both.orders = CodeOrders::both, both.split = 1;
  std::vector<Array> ins = {array_of(v)};
  ins.insert(ins.end(), amax.begin(), amax.end());
  const std::vector<Array> got = ops.run(both, ins);
  const i64 height = std::min(op.box[0], v.rows), width = std::min(op.box[1], v.cols);
  CodedMatrix as_is{op.format, v.rows, v.cols, height, width, got[0].as<u8>(), got[1].as<float>()};
  CodedMatrix turned{op.format, v.cols, v.rows, width, height, got[2].as<u8>(), {}, true};
  turned.scale_inv = turned_scales(as_is.scale_inv, quant::blocks_of(v.rows, height));
  return {as_is, turned};
}

void hold_product_by_op(const OpCheck& c, const std::string& tensor, const CodedMatrix& a, const CodedMatrix& b) {
  constexpr i64 kMultiple = 16;
  const bool one_scale = a.scale_inv.size() == 1 && b.scale_inv.size() == 1 && a.format != CodeFormat::e2m1;
  if (c.ops.is_gpu() && one_scale && (a.cols % kMultiple != 0 || b.rows % kMultiple != 0))
    return c.held.lacks(tensor, "a GPU multiplies codes of sizes that are multiples of 16");
  QuantizedProduct op{"mk,nk->mn", DType::f32, a.format, b.format, box_of(a), box_of(b)};
  op.x_split = a.turned, op.w_split = b.turned;
  std::vector<Array> ins = op_inputs(a), more = op_inputs(b);
  ins.insert(ins.end(), more.begin(), more.end());
  const std::vector<float> ours = c.ops.run(op, ins)[0].as<float>();
  const bool by_codes = one_scale || (a.width == quant::kBlock && b.width == quant::kBlock);
  if (c.ops.is_gpu() && by_codes) return c.held.product_of_codes(tensor, a.operand(), b.operand(), ours);
  c.held.product(tensor, a.operand(), b.operand(), ours);
}

}  // namespace megalith::fp8
