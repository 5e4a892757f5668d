#include "exec/cuda_needs/coded_tiles.h"

#include <algorithm>

#include "exec/cuda_needs/code_tiles.h"
#include "exec/cuda_needs/local_node.h"
#include "ops/coded_result.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"

namespace megalith::cuda {

namespace {

// Nothing: no kernel casts the op's result.
std::optional<ValuesBy> values_by(const CodedResult& op, const Shape& values) {
  if (!op.op) return ValuesBy::none;
  const auto* swiglu = op.op->get_if<Swiglu>();
  const auto* grad = op.op->get_if<SwigluGrad>();
  const auto* norm = op.op->get_if<RmsNorm>();
  if (swiglu && !swiglu->gives_amax) return ValuesBy::gated;
  if (grad && !grad->gives_amax && !grad->with_output) return ValuesBy::gated_grad;
  if (norm && !norm->gives_amax && values.size() == 3) return ValuesBy::normed;
  return {};
}

bool is_tensor_cast(const Quantize& cast) {
  if (cast.scaling != Scaling::kept || !cast.gives_amax) return false;
  return cast.orders == CodeOrders::as_is || (cast.split == 2 && !cast.by_sequence);
}

// Enters the cast if it has boxes of 128 values along features or tokens. Features of several heads of 128 are one row.
bool add_boxes(const Quantize& cast, int at, const LocalNode& node, CodedTiles& to) {
  const std::optional<CodeTiles> t = code_tiles(cast, node);
  if (cast.scaling != Scaling::power_of_two || !t) return false;
  if (cast.orders == CodeOrders::as_is && to.features < 0)
    return to.features = at,
           t->box_rows == 1 && t->box_columns == kCodeTile &&
               (t->columns == to.columns || (t->columns % kCodeTile == 0 && to.columns % t->columns == 0));
  if (cast.orders != CodeOrders::transposed || !cast.by_sequence || to.tokens >= 0) return false;
  return to.tokens = at, t->box_rows == kCodeTile && t->box_columns == 1;
}

bool are_bf16(const CodedResult& op, const LocalNode& node) {
  const std::vector<CodedResult::Part> parts = op.parts(node.ins.size(), node.outs.size());
  const auto is_bf16 = [&](int i) { return node.ins[size_t(i)].dtype == DType::bf16; };
  return op.values.dtype == DType::bf16 && (!op.op || std::ranges::all_of(parts[0].ins, is_bf16));
}

}  // namespace

std::optional<CodedTiles> coded_tiles(const CodedResult& op, const LocalNode& node) {
  const Shape shape = local_shape(node.mesh, op.values.shape, op.values.layout);
  const std::optional<ValuesBy> by = values_by(op, shape);
  if (!by || !are_bf16(op, node) || shape.size() < 3 || count(shape) == 0) return {};
  const i64 tokens = shape[0] * shape[1], matrices = *by == ValuesBy::gated_grad ? 2 : 1;
  CodedTiles out{.by = *by, .rows = tokens, .columns = count(shape) / tokens / matrices};
  if (out.columns % 8 != 0 || tokens % 16 != 0) return {};
  if (op.op && op.casts.size() == 1 && is_tensor_cast(op.casts[0])) {
    out.tensor = 0;
    return out;
  }
  const LocalNode values{node.mesh, node.coord, {op.values}, {}, node.gpu};
  const auto alike = [&](const Quantize& cast) {
    return cast.format == op.casts[0].format && cast.counts == op.casts[0].counts;
  };
  for (size_t i = 0; i < op.casts.size(); ++i)
    if (!alike(op.casts[i]) || !add_boxes(op.casts[i], int(i), values, out)) return {};
  if (out.tokens >= 0) out.sequences = shape[1], out.rows = shape[0];
  return out;
}

bool has_coded_kernel(const Graph& g, const Node& n, const GpuSizes& gpu) {
  LocalNode node{g.mesh, Coord{}, {}, {}, gpu};
  for (const Value v : n.ins) node.ins.push_back(g.type(v));
  for (const Value v : n.outs) node.outs.push_back(g.type(v));
  return coded_tiles(*n.op.get_if<CodedResult>(), node).has_value();
}

}  // namespace megalith::cuda
