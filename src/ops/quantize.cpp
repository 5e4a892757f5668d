#include "ops/quantize.h"

#include "ops/einsum.h"

namespace megalith {

std::string_view name_of(CodeFormat f) {
  constexpr std::string_view names[] = {"e4m3", "e5m2", "e2m1"};
  return names[int(f)];
}

std::string_view name_of(Scaling s) {
  constexpr std::string_view names[] = {"quotient", "power of two", "mx", "nv", "kept"};
  return names[int(s)];
}

std::string_view name_of(CodeOrders o) {
  constexpr std::string_view names[] = {"as is", "transposed", "both"};
  return names[int(o)];
}

Type turned(Type x, Turn turn) {
  x.shape = turn.of(std::move(x.shape)), x.layout.dims = turn.of(std::move(x.layout.dims));
  return x;
}

Type turned_back(Type transpose, Turn turn) {
  transpose.shape = turn.back(std::move(transpose.shape));
  transpose.layout.dims = turn.back(std::move(transpose.layout.dims));
  return transpose;
}

// The type of scales. `alike`: a box that covers a full dim may be on several ranks, which all know its scale.
static Type scales_of(const Mesh& mesh, const Type& x, const Shape& box, bool alike) {
  Type out = grid_of(mesh, x, box, alike);
  out.layout.max = {};
  return out;
}

std::vector<Type> Quantize::infer(const InferArgs& a) const {
  const bool kept = scaling == Scaling::kept;
  check(int(a.ins.size()) == inputs(), "{} inputs for a scale by {}", a.ins.size(), name_of(scaling));
  check(kept || !gives_amax, "amax of a cast with a scale by {}", name_of(scaling));
  check((format == CodeFormat::e2m1) == (scaling == Scaling::nv), "{} codes with a scale by {}", name_of(format),
        name_of(scaling));
  check(!stochastic || format == CodeFormat::e2m1, "stochastic rounding to {}: it is for e2m1", name_of(format));
  const Type& x = a.ins[0];
  const Type grid = scales_of(a.mesh, x, box, reads_amax(scaling) && scaling != Scaling::nv);
  if (takes_amax()) {
    const Type amax = scales_of(a.mesh, x, scaling == Scaling::nv ? tensor_box(a.mesh, x) : box, true);
    if (a.ins[1] != amax) fail("the tensor's amax is {}: want {}", to_string(a.ins[1]), to_string(amax));
  }
  if (kept) {
    const Type& state = a.ins[1 + size_t(takes_amax())];
    if (state.dtype != DType::f32 || at >= state.elements()) fail("scale {} of {}", at, to_string(state));
  }
  if (stochastic) {
    const Type& rows = a.ins.back();
    const bool fits = rows.ndim() == 1 && x.ndim() > 1 && rows.dim(0) == x.dim(1) &&
                      local_type(a.mesh, rows).dim(0) == local_type(a.mesh, x).dim(1);
    check(rows.dtype == DType::i64 && fits, "sample numbers {} of {}", to_string(rows), to_string(x));
  }
  const Type codes{dtype_of_codes(format), x.shape, x.layout};
  std::vector<Type> out = {codes, grid};
  if (gives_amax) {
    out.push_back(grid_of(a.mesh, x, box, true));
    if (!out[2].layout.max.empty()) fail("the amax of {} is that of several ranks", to_string(x));
  }
  if (counts) {
    Type counted{DType::i64, {2}, whole(1)};
    counted.layout.copy = x.layout.copy;
    for (const AxisList& cuts : x.layout.dims) counted.layout.partial.insert(a.mesh.used(cuts.axes()));
    out.push_back(counted);
  }
  if (orders == CodeOrders::as_is) return out;
  if (split <= 0 || split >= x.ndim()) fail("codes of {}, transposed at dim {}: want one inside", to_string(x), split);
  check(!by_sequence || (split == 2 && scaling == Scaling::power_of_two),
        "codes by sequence, transposed at dim {} by {}", split, name_of(scaling));
  const Type codes_t = turned(codes, turn());
  if (orders == CodeOrders::transposed)
    out[0] = codes_t;
  else
    out.push_back(codes_t);
  return out;
}

std::vector<Type> RotateTokens::infer(const InferArgs& a) const {
  const Type& x = a.ins.at(0);
  check(x.ndim() > 1 && run_length(a.mesh, x, 0) % kTokens == 0,
        "{} tokens together are rotated: ranks hold runs of {} along dim 0 of {}", kTokens, run_length(a.mesh, x, 0),
        to_string(x.shape));
  return {x};
}

std::vector<Type> QuantizedProduct::infer(const InferArgs& a) const {
  check(a.ins.size() == 4u + (accumulate || plus) && !(accumulate && plus), "{}: got {} inputs", spec, a.ins.size());
  const auto is_coded = [&](size_t i, CodeFormat format, const Shape& box, Turn turn) {
    const Type& x = a.ins[i];
    if (turn.split < 0 || turn.split >= x.ndim() || (turn.by_sequence && turn.split != 2))
      fail("{}: operand {} is no transpose by {}", spec, to_string(x), turn.split);
    if (x.dtype != dtype_of_codes(format))
      fail("{}: operand {} is not of {} codes", spec, to_string(x), name_of(format));
    const Type grid = scales_of(a.mesh, turned_back(x, turn), box, true);
    if (a.ins[i + 1] != grid) fail("{}: scales are {}, want {}", spec, to_string(a.ins[i + 1]), to_string(grid));
  };
  is_coded(0, x_format, x_box, x_turn()), is_coded(2, w_format, w_box, w_turn());
  // Codes have no gradient, but their values have: the rule is that of the plain product.
  const InferArgs two{a.mesh, {a.ins[0], a.ins[2]}, {true, true}};
  std::vector<Type> out = infer_by_rule(Einsum{spec, dtype}.rule(), two, {dtype});
  if ((accumulate || plus) && a.ins[4] != out[0])
    fail("{}: adds {} and {}", spec, to_string(out[0]), to_string(a.ins[4]));
  return out;
}

std::string QuantizedProduct::spec_before() const {
  auto [ins, outs] = split_spec(spec);
  return x_turn().back(ins.at(0)) + "," + w_turn().back(ins.at(1)) + "->" + outs.at(0);
}

Cost QuantizedProduct::cost(Types ins, Types outs) const {
  const Type operands[] = {ins[0], ins[2]};
  return {Einsum{spec, dtype}.cost(operands, outs).flops, total_bytes(ins, outs)};
}

}  // namespace megalith
