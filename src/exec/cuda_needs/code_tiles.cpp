#include "exec/cuda_needs/code_tiles.h"

#include <algorithm>
#include <vector>

#include "exec/cuda_needs/local_node.h"
#include "ops/quantize.h"

namespace megalith::cuda {

namespace {

constexpr i64 kLeastColumns = 8;  // of a thread

struct CutDim {
  i64 size, box;
};

// Merges dims that boxes cut in the same way. Dims of size 1 are left out.
std::vector<CutDim> merged_dims(const Shape& shape, const Shape& box) {
  std::vector<CutDim> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    const CutDim dim{shape[d], std::min(box[d], shape[d])};
    if (dim.size == 1) continue;
    const bool single = !out.empty() && out.back().box == 1 && dim.box == 1;
    const bool whole = !out.empty() && out.back().box > 1 && dim.box == dim.size;
    if (single || whole)
      out.back().size *= dim.size, out.back().box *= dim.box;
    else
      out.push_back(dim);
  }
  return out;
}

// The size of a box along one side of a tile; 0 if it does not fit.
i64 side_of(const CutDim& d, i64 least) {
  if (d.box == 1) return 1;
  if (d.box == d.size && d.size <= kCodeTile) return kCodeTile;
  return d.box >= least && kCodeTile % d.box == 0 ? d.box : 0;
}

}  // namespace

CodeMatrix code_matrix(const Quantize& op, const LocalNode& node) {
  CodeMatrix m;
  const Shape shape = node.in_shape(0);
  const int split = op.orders == CodeOrders::as_is ? 0 : op.split;
  for (size_t d = 0; d < shape.size(); ++d) (int(d) < split ? m.rows : m.columns) *= shape[d];
  return m;
}

// A matrix for each sequence of x [s, b, ..], with boxes along s.
static std::optional<CodeTiles> sequence_tiles(const Quantize& op, const Shape& shape) {
  CodeTiles t{.outer = shape[1], .rows = shape[0], .box_rows = side_of({shape[0], op.box[0]}, kLeastBoxRows)};
  t.mixed = t.outer > 1;
  for (size_t d = 2; d < shape.size(); ++d) t.columns *= shape[d];
  const bool along = t.box_rows > 1 && std::all_of(op.box.begin() + 1, op.box.end(), [](i64 n) { return n == 1; });
  const bool words = t.columns % kLeastColumns == 0 && t.rows % 16 == 0;
  return along && words ? std::optional(t) : std::nullopt;
}

std::optional<CodeTiles> code_tiles(const Quantize& op, const LocalNode& node) {
  if (!has_box_scales(op) || op.format == CodeFormat::e2m1 || node.ins[0].dtype == DType::f64) return std::nullopt;
  if (op.by_sequence) return sequence_tiles(op, node.in_shape(0));
  std::vector<CutDim> dims = merged_dims(node.in_shape(0), op.box);
  // Square boxes of a weight whose columns are groups of heads. Runs of columns that boxes divide become one row.
  if (dims.size() == 3 && dims[0].box > 1 && dims[1].box == 1 && dims[2].size % dims[2].box == 0)
    dims[1] = {dims[1].size * dims[2].size, dims[2].box}, dims.pop_back();
  if (dims.size() == 3 && dims[0].box > 1) return std::nullopt;
  if (dims.empty() || dims.size() > 3) return std::nullopt;
  while (dims.size() < 3) dims.insert(dims.begin(), {1, 1});
  const CodeTiles t{dims[0].size, dims[1].size, dims[2].size, side_of(dims[1], kLeastBoxRows),
                    side_of(dims[2], kLeastColumns)};
  if (t.box_rows * t.box_columns <= 1 || t.columns % kLeastColumns != 0) return std::nullopt;
  if (op.orders == CodeOrders::as_is) return t;
  const bool words = t.rows % 16 == 0 && t.columns == code_matrix(op, node).columns;
  return words ? std::optional(t) : std::nullopt;
}

bool has_box_scales(const Quantize& op) {
  return op.scaling == Scaling::power_of_two || op.scaling == Scaling::mx || op.scaling == Scaling::nv;
}

i64 quantize_workspace(const Quantize& op, const LocalNode& node) {
  return has_box_scales(op) && !code_tiles(op, node) ? count(node.out_shape(1)) * i64(sizeof(float)) : 0;
}

}  // namespace megalith::cuda
