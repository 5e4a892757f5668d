// How a GPU runs an overlapped product (ops/overlapped_product.h): as one product for each member's rows.
#pragma once
#include "exec/cuda_needs/local_node.h"
#include "exec/cuda_needs/relayout_boxes.h"
#include "ops/overlapped_product.h"

namespace megalith::cuda {

struct ProductPieces {
  std::vector<OpPart<Type>> separate;  // the two ops, in their order
  RelayoutBoxes boxes;
  AnyOp product;                // of one member's rows
  std::vector<Type> ins, outs;  // its operands
  i64 x_bytes, y_bytes;         // of a piece on one rank
  int plus = -1;                // the input that is added; -1: none

  ProductPieces(const OverlappedProduct& op, const LocalNode& node);
  // Whether a member's rows are consecutive, and begin where buffers may (local_node.h). If not, the two ops run one
  // after the other.
  bool possible() const { return boxes.direct && x_bytes % 256 == 0 && y_bytes % 256 == 0; }
  LocalNode node_of(size_t part, const LocalNode& node) const;  // of a separate op
  LocalNode piece_of(const LocalNode& node) const;

 private:
  static LocalNode with(const LocalNode& node, const std::vector<Type>& ins, const std::vector<Type>& outs);
};

// Where the room of a transfer begins in the workspace of a piece's kernel.
constexpr i64 after_piece(i64 workspace) { return (workspace + 255) / 256 * 256; }

}  // namespace megalith::cuda
