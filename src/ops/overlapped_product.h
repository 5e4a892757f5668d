// A product with the transfer of its first input, or of its result. An interpreter may overlap the two row by row. A
// rank multiplies the rows that it has while others arrive, or sends rows while it multiplies others. A pass
// makes it (passes/overlap_products.cpp). The method: Wang et al., Overlap Communication with Dependent Computation via
// Decomposition, ASPLOS 2023.
//   x = move(part); y = product(x, w ..)        ->   y, x = overlapped_product(part, w ..)
//   whole = product(x, w ..); y = move(whole)   ->   y, whole = overlapped_product(x, w ..)
// The transfer is an all-gather or a reduce-scatter of the first dim.
#pragma once
#include <array>

#include "graph/relayout_op.h"

namespace megalith {

struct OverlappedProduct {
  static constexpr std::string_view name = "overlapped_product";
  AnyOp product;
  Relayout move;

  bool gathers() const { return move.transfer == Transfer::all_gather; }
  void fields(auto&& v) const { v("product", product.print()), v("move", AnyOp(move).print()); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
};

// A separate op, with what it reads and writes.
template <class T>
struct OpPart {
  AnyOp op;
  std::vector<T> ins, outs;
};

// The two ops, in their order. ins, outs: of the overlapped product.
template <class T>
std::array<OpPart<T>, 2> parts_of(const OverlappedProduct& op, std::span<const T> ins, std::span<const T> outs) {
  if (!op.gathers()) return {{{op.product, {ins.begin(), ins.end()}, {outs[1]}}, {op.move, {outs[1]}, {outs[0]}}}};
  std::vector<T> rest(ins.begin(), ins.end());
  rest.at(0) = outs[1];
  return {{{op.move, {ins[0]}, {outs[1]}}, {op.product, std::move(rest), {outs[0]}}}};
}

// The relayout that the op is or contains. Null: it has none.
const Relayout* relayout_of(const AnyOp& op);

}  // namespace megalith
