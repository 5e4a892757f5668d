#include "exec/cuda_needs/kernel_shapes.h"

#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

EmbeddingShape embedding_shape(const LocalNode& node, int rows, int table) {
  const Type& t = node.ins[table];
  const std::vector<Run> runs = index_runs(node.mesh, t.shape, t.layout, node.coord, 0);
  check(runs.size() == 1, "[embedding] the rows of a table must be split in blocks");
  const EmbeddingShape s{count(node.in_shape(0)), node.in_shape(rows).back(), runs[0].start, runs[0].length};
  check(s.tokens < i64{1} << 31 && s.rows < i64{1} << 31, "[embedding] {} tokens, {} rows: want less than 2^31",
        s.tokens, s.rows);
  return s;
}

NormDevice norm_device(const LocalNode& node) { return {node.gpu.sms, node.gpu.shared_memory, node.gpu.capability}; }

NormShape norm_shape(std::string_view op, const LocalNode& node, int x, bool centred) {
  const DType xt = node.ins[x].dtype, wt = node.ins[x + 1].dtype;
  check_activation(op, xt);
  check_activation(op, wt);
  const Shape shape = node.in_shape(x);
  const i64 h = shape.back();
  check(h > 0 && h < NormShape::kMostColumns && count(shape) / h < NormShape::kMostRows,
        "[{}] {} is larger than the CUDA kernel takes", op, megalith::to_string(shape));
  return {xt, wt, centred, count(shape) / h, h};
}

}  // namespace megalith::cuda
