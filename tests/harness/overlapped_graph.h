// Two products between tensor-parallel transfers, as in a layer:
//   part -> all-gather -> x; y = x w + c; y v -> reduce-scatter -> z
#pragma once
#include "ops/all.h"

namespace megalith::harness {

struct LayerSizes {
  i64 rows = 8, batch = 2, hidden = 16, inner = 32;
};

// Codes of a tensor and their scale.
struct CodedValue {
  Value codes, scale_inv;
  Shape box;
};

// With the scale of element `at` of the state, or while that is 0 with the tensor's own.
inline CodedValue cast(Builder& b, Value x, Value state, i64 at) {
  Graph& g = b.graph();
  const Shape box = b.type(x).shape;
  Value amax = b.add1(Amax{box}, {x});
  if (const AxisSet axes = b.type(amax).layout.max; !axes.empty()) {
    amax = b.relayout(amax, axes, kSame);
    Node& n = g.nodes.back();
    n.op = SharedAmax{*n.op.get_if<Relayout>(), at}, n.ins.push_back(state);
  }
  const std::vector<Value> out = b.add(Quantize{CodeFormat::e4m3, Scaling::kept, box, at}, {x, amax, state});
  return {out[0], out[1], box};
}

inline Graph layer_between_transfers(const Mesh& mesh, const LayerSizes& s, bool codes) {
  constexpr AxisSet tp = groups::tensor;
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  const auto leaf = [&](const char* name, DType dtype, const Shape& shape, int cut) {
    Type type{dtype, shape, whole(shape.size())};
    type.layout.dims[size_t(cut)] = {{tp}};
    return b.leaf({name, type});
  };
  const Value part = leaf("part", DType::bf16, {s.rows, s.batch, s.hidden}, 0);
  const Value w = leaf("w", DType::bf16, {s.inner, s.hidden}, 0), v = leaf("v", DType::bf16, {s.hidden, s.inner}, 1);
  const Value c = leaf("c", DType::bf16, {s.rows, s.batch, s.inner}, 2);
  Value y, sum;
  if (codes) {
    const Value state = b.leaf({"state", {DType::f32, {2, 3}, whole(2)}});
    CodedValue x = cast(b, part, state, 0);
    const CodedValue cw = cast(b, w, state, 1), cv = cast(b, v, state, 1);
    x.codes = b.relayout(x.codes, tp, kCopy), x.scale_inv = b.relayout(x.scale_inv, tp, kCopy);
    const auto product = [&](const char* spec, DType dtype, const CodedValue& p, const CodedValue& q, Value plus) {
      const QuantizedProduct op{.spec = spec, .dtype = dtype, .x_box = p.box, .w_box = q.box, .plus = bool(plus)};
      std::vector<Value> ins = {p.codes, p.scale_inv, q.codes, q.scale_inv};
      if (plus) ins.push_back(plus);
      return b.add1(op, ins);
    };
    y = product("sbh,fh->sbf", DType::bf16, x, cw, c);
    sum = product("sbf,hf->sbh", DType::f32, cast(b, y, state, 2), cv, {});
  } else {
    y = b.add1(Einsum{.spec = "sbh,fh->sbf", .dtype = DType::bf16, .plus = true}, {b.relayout(part, tp, kCopy), w, c});
    sum = b.add1(Einsum{"sbf,hf->sbh", DType::f32}, {y, v});
  }
  g.outputs["y"] = y, g.outputs["z"] = b.relayout(sum, tp, split(0));
  verify(g);
  return g;
}

}  // namespace megalith::harness
