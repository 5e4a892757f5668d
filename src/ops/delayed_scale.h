// State of delayed scaling (docs/fp8.md) for x, w and dy of a linear layer: state [1 + slots, 3] f32. Row 0 has the
// scales, 0 if there is none yet; the other rows have the history of amax, oldest first.
//   shared_amax    amax [..] f32 that is Max over ranks, state -> the maximum over these ranks. If element `at` of
//                  the state has a scale, ranks exchange nothing, and the result is the rank's own amax. A cast then
//                  reads only whether it is finite.
//   collect_amax   seen [n] f32, amax... -> seen, in place: seen[places[i]] = max(seen[places[i]], amax i). In a step's
//                  first micro-batch the previous content of `seen` is ignored.
//   delayed_scale  state of each layer.., seen over all ranks, scalars [4] f64 (StepScalars) -> the states, in place.
//                  Layer i uses the elements of `seen` from 3 i on. Nothing changes if the step does not count. A
//                  tensor whose amax is 0 was not cast, and keeps its state.
#pragma once
#include "graph/relayout_op.h"
#include "ops/quantize.h"

namespace megalith {

inline constexpr i64 kTensorsOfLayer = 3;  // x, w, dy

struct SharedAmax {
  static constexpr std::string_view name = "shared_amax";
  Relayout move;
  i64 at = 0;
  void fields(auto&& v) const { v("move", AnyOp(move).print()), v("at", at); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins.first(1), outs)}; }
};

struct CollectAmax {
  static constexpr std::string_view name = "collect_amax";
  std::vector<int> places;  // index in `seen` for each amax
  void fields(auto&& v) const { v("amax", places.size()); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(ins.size()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0, true}}; }
};

struct DelayedScale {
  static constexpr std::string_view name = "delayed_scale";
  i64 layers = 1;
  bool largest = false;  // uses the largest amax of the history; false: the newest one
  int margin = 0;        // scales are divided by 2^margin
  CodeFormat gradients = CodeFormat::e4m3;

  void fields(auto&& v) const {
    v("layers", layers), v("by", largest ? "max" : "most_recent"), v("margin", margin),
        v("gradients", name_of(gradients));
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const {
    return {double(layers * ins[0].elements()), total_bytes(ins.first(size_t(layers)), outs)};
  }
  std::vector<Alias> aliases() const {
    std::vector<Alias> out;
    for (int i = 0; i < int(layers); ++i) out.push_back({i, i, true});
    return out;
  }
};

}  // namespace megalith
