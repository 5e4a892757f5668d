// Values as codes of 8 or 4 bits with one scale for each box (ops/boxes.h), and products of such codes. docs/fp8.md.
//   amax               x -> [..] f32: the largest |value| of each box, as this rank knows it. Max over ranks that
//                      hold other parts of the box. Infinite if a value is infinite or NaN.
//   quantize           x, [amax], [state], [rows] -> codes of x's shape, scale_inv f32 of the grid of boxes. A value is
//                      code * scale_inv. amax is that of x's tensor box, reduced over ranks. If a box has an infinite
//                      value or NaN, its scale_inv is NaN. So products with it are NaN too, and the step is skipped. (A
//                      code would hide an infinity.)
//                      With `counts` another result [2] i64 counts what the cast loses: values beyond the largest code,
//                      and values that became 0. It is Partial over ranks that hold other parts of x.
//                      The codes may also be transposed, as the only or as the last result (CodeOrders). With
//                      `gives_amax` no amax is read: x, state -> codes, scale_inv, amax of x's tensor box. Values that
//                      are not finite give the scale_inv NaN here too.
//   rotate_tokens      x [s, ..] -> x with each 16 neighbours along s rotated (quant/nvfp4.h), rounded to x's type
//   quantized_product  x's codes and scale_inv, w's codes and scale_inv, [acc] -> y like Einsum's, with f32 sums
// x is f32 or bf16, in tests also f64. Codes are f8_e4m3, f8_e5m2, or u8: e2m1, one a byte.
#pragma once
#include <algorithm>

#include "graph/relayout_op.h"
#include "ops/boxes.h"

namespace megalith {

enum class CodeFormat : u8 { e4m3, e5m2, e2m1 };
constexpr DType dtype_of_codes(CodeFormat f) {
  return f == CodeFormat::e4m3 ? DType::f8_e4m3 : f == CodeFormat::e5m2 ? DType::f8_e5m2 : DType::u8;
}
std::string_view name_of(CodeFormat f);

// What a box's scale is computed from (quant/scale.h).
enum class Scaling : u8 {
  quotient,      // largest / amax of the tensor: input amax
  power_of_two,  // the same for the box, rounded down to a power of two
  mx,            // ue8m0 of the box
  nv,            // ue4m3 of the box, and a factor of the tensor: input amax
  kept,          // element `at` of the input `state`; if that is 0, `quotient` of the input amax
};
std::string_view name_of(Scaling s);
constexpr bool reads_amax(Scaling s) { return s == Scaling::quotient || s == Scaling::nv || s == Scaling::kept; }

// The order of the codes that Quantize writes. x is seen as a matrix [its first `split` dims, the rest]. A kernel whose
// product needs the summed dims last reads the transpose: for x [s, b, h] with split 2 it is [h, s, b]. With
// `by_sequence` it is [h, b, s]. So the tokens of a sequence, and the numbers of a block of tokens, are consecutive.
enum class CodeOrders : u8 {
  as_is,       // -> codes, scale_inv
  transposed,  // -> codes_t, scale_inv
  both,        // -> codes, scale_inv, codes_t
};
std::string_view name_of(CodeOrders o);

// How codes are transposed: of the dims behind the first `kept` ones, the first `split` dims move to the end. Two of
// them may also be swapped.
struct Turn {
  int split = 0;
  bool by_sequence = false;
  int kept = 0;
  // Reorders a list with one element a dim. back(): the inverse.
  template <class List>
  List of(List x) const {
    if (by_sequence) std::swap(x[0], x[1]);
    std::rotate(x.begin() + kept, x.begin() + kept + split, x.end());
    return x;
  }
  template <class List>
  List back(List x) const {
    std::rotate(x.begin() + kept, x.end() - split, x.end());
    if (by_sequence) std::swap(x[0], x[1]);
    return x;
  }
  auto operator<=>(const Turn&) const = default;
};
// The type of the transpose. turned_back: the type before.
Type turned(Type x, Turn turn);
Type turned_back(Type transpose, Turn turn);

struct Amax {
  static constexpr std::string_view name = "amax";
  Shape box;
  void fields(auto&& v) const { v("box", to_string(box)); }
  std::vector<Type> infer(const InferArgs& a) const { return {grid_of(a.mesh, a.ins.at(0), box, true)}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(ins[0].elements()), total_bytes(ins, outs)}; }
};

struct Quantize {
  static constexpr std::string_view name = "quantize";
  CodeFormat format = CodeFormat::e4m3;
  Scaling scaling = Scaling::quotient;
  Shape box;
  i64 at = 0;  // for Scaling::kept
  // Rounds stochastically to e2m1. The random bits are keyed by the seed, the sample numbers in `rows`, and global
  // indices. x's dim 1 has the samples; the indices are those along its other dims. If false, rounds to nearest.
  bool stochastic = false;
  u64 seed = 0;
  CodeOrders orders = CodeOrders::as_is;
  int split = 0;  // of the transpose. scale_inv is always in x's order.
  bool by_sequence = false;
  bool gives_amax = false;  // for Scaling::kept
  bool counts = false;

  int inputs() const { return 1 + takes_amax() + (scaling == Scaling::kept) + stochastic; }
  int results() const { return 2 + gives_amax + counts + (orders == CodeOrders::both); }
  // Indices of results.
  int counts_at() const { return 2 + gives_amax; }
  int transpose_at() const { return orders == CodeOrders::transposed ? 0 : 2 + gives_amax + counts; }
  Turn turn() const { return {split, by_sequence}; }
  bool takes_amax() const { return reads_amax(scaling) && !gives_amax; }
  void fields(auto&& v) const {
    v("format", name_of(format)), v("scaling", name_of(scaling)), v("box", to_string(box));
    if (scaling == Scaling::kept) v("at", at);
    if (stochastic) v("seed", seed);
    if (orders != CodeOrders::as_is) v("orders", name_of(orders)), v("split", i64(split));
    if (by_sequence) v("by_sequence", by_sequence);
    if (gives_amax) v("gives_amax", gives_amax);
    if (counts) v("counts", counts);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {4 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

struct RotateTokens {
  static constexpr std::string_view name = "rotate_tokens";
  static constexpr i64 kTokens = 16;
  void fields(auto&&) const {}
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {5 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

// As in Einsum: with `accumulate` the fifth input is the accumulator, which is added to in place. With `starts` a
// step's first micro-batch overwrites it. With `plus` the fifth input is added.
struct QuantizedProduct {
  static constexpr std::string_view name = "quantized_product";
  std::string spec;
  DType dtype = DType::f32;  // type of y
  CodeFormat x_format = CodeFormat::e4m3, w_format = CodeFormat::e4m3;
  Shape x_box, w_box;
  bool accumulate = false, starts = false;
  // Nonzero: the operand's codes are Quantize's transpose by this split. Its box and scales are still in x's order.
  int x_split = 0, w_split = 0;
  bool by_sequence = false;  // for both operands
  bool plus = false;
  bool fast = false;  // a GPU may keep fewer bits of partial sums than f32 has

  void fields(auto&& v) const {
    v("spec", spec), v("dtype", name_of(dtype)), v("x", name_of(x_format)), v("x_box", to_string(x_box));
    v("w", name_of(w_format)), v("w_box", to_string(w_box));
    if (accumulate) v("accumulate", starts ? "starts" : "adds");
    if (x_split) v("x_split", i64(x_split));
    if (w_split) v("w_split", i64(w_split));
    if (by_sequence) v("by_sequence", by_sequence);
    if (plus) v("plus", plus);
    if (fast) v("fast", fast);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;  // 2 flops a multiply-add
  std::string spec_before() const;         // with the letters of the operands before they were transposed
  Turn x_turn() const { return {x_split, by_sequence}; }
  Turn w_turn() const { return {w_split, by_sequence}; }
  std::vector<Alias> aliases() const {
    if (accumulate) return {{0, 4, true}};
    return {};
  }
};

}  // namespace megalith
