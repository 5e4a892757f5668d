#include "exec/cuda_needs/product_pieces.h"

#include "ops/einsum.h"
#include "ops/quantize.h"

namespace megalith::cuda {

static std::vector<OpPart<Type>> separate_ops(const OverlappedProduct& op, const LocalNode& node) {
  const auto parts = parts_of<Type>(op, node.ins, node.outs);
  return {parts.begin(), parts.end()};
}

// The product of 1/n of the rows. A box that covers all rows covers those of a piece.
static AnyOp piece_product(const AnyOp& product, i64 rows, i64 n) {
  const auto* coded = product.get_if<QuantizedProduct>();
  if (!coded) return product;
  QuantizedProduct piece = *coded;
  if (piece.x_box.at(0) == rows) piece.x_box[0] /= n;
  return piece;
}

LocalNode ProductPieces::with(const LocalNode& node, const std::vector<Type>& ins, const std::vector<Type>& outs) {
  return {node.mesh, node.coord, ins, outs, node.gpu};
}

ProductPieces::ProductPieces(const OverlappedProduct& op, const LocalNode& node)
    : separate(separate_ops(op, node)),
      boxes(op.move, node_of(op.gathers() ? 0 : 1, node)),
      product(op.product),
      ins(separate[op.gathers() ? 1 : 0].ins),
      outs(separate[op.gathers() ? 1 : 0].outs) {
  const auto n = i64(boxes.members.size());
  product = piece_product(op.product, ins[0].shape[0], n);
  if (const auto* e = op.product.get_if<Einsum>(); e && e->plus) plus = 2;
  if (const auto* q = op.product.get_if<QuantizedProduct>(); q && q->plus) plus = 4;
  for (Type* t : {&ins[0], &outs[0]}) t->shape[0] /= n;
  if (plus >= 0) ins[size_t(plus)].shape[0] /= n;
  const LocalNode piece = piece_of(node);
  x_bytes = count(piece.in_shape(0)) * size_of(ins[0].dtype);
  y_bytes = count(piece.out_shape(0)) * size_of(outs[0].dtype);
}

LocalNode ProductPieces::node_of(size_t part, const LocalNode& node) const {
  return with(node, separate[part].ins, separate[part].outs);
}
LocalNode ProductPieces::piece_of(const LocalNode& node) const { return with(node, ins, outs); }

}  // namespace megalith::cuda
