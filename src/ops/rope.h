// Rotary position embedding (Su et al. 2021). For i < n/2 a pair is rotated by position * freq_i; other dims do not
// change. The pair is (x_{f+i}, x_{f+i+n/2}), or (x_{f+2i}, x_{f+2i+1}) if interleaved; the first f dims do not change.
// The angle follows from the global position, or from an i32 input positions [s,b]. x [s,b,..,d]. With `gives_amax`,
// set by a pass, a second result is the amax of the first one (ops/quantize.h).
#pragma once
#include "graph/builder.h"
#include "ops/boxes.h"
#include "ops/rope_scaling.h"

namespace megalith {

struct RopeFrequencies {
  double base = 10000;
  i64 dims = 0;                         // n: number of the d dims that are rotated; even
  i64 width = 0;                        // exponents are 2i / width; 0: n. Odd where n was rounded up
  double position_scale = 1;            // positions are divided by it
  RopeScaling scaling = {};             // resolved
  i64 length = 0;                       // sequence length, which dynamic and longrope depend on
  std::vector<double> inverse() const;  // n/2 frequencies, in radians a position
  double amplitude() const { return scaling.amplitude(); }
};

struct Rope {
  static constexpr std::string_view name = "rope";
  std::string x = "sbgrd";
  RopeFrequencies freq;
  int sign = 1;            // -1 rotates back: the gradient
  bool positions = false;  // a second input holds them
  i64 heads = 0;           // along the dim before the last: only the first ones are rotated; 0: all
  i64 first = 0;           // f: dims before the rotated ones
  bool interleaved = false;
  bool gives_amax = false;
  void fields(auto&& v) const {
    v("x", x), v("base", freq.base), v("dims", freq.dims), v("sign", sign);
    if (freq.width) v("width", freq.width);
    if (freq.position_scale != 1) v("position_scale", freq.position_scale);
    if (freq.scaling.kind > RopeScaling::Kind::none) v("scaling", freq.scaling.text()), v("length", freq.length);
    if (positions) v("positions", positions);
    if (heads) v("heads", heads);
    if (first) v("first", first);
    if (interleaved) v("interleaved", interleaved);
    if (gives_amax) v("gives_amax", gives_amax);
  }
  LayoutRule rule() const;
  std::vector<Type> infer(const InferArgs& a) const {
    std::vector<Type> out = infer_by_rule(rule(), a, {});
    if (gives_amax) out.push_back(tensor_amax(a.mesh, out[0]));
    return out;
  }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {3.0 * double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

}  // namespace megalith
