// Rotary position embedding (Su et al. 2021), halves convention: for i < n/2 the pair (x_i, x_{i+n/2}) turns by
// position * freq_i; dims from n on pass. The angle comes from the global position, or from an i32 input positions
// [s,b]. x [s,b,..,d].
#pragma once
#include "graph/builder.h"

namespace megalith {

struct RopeFrequencies {
  double base = 10000;
  i64 dims = 0;               // n: how many of the d dims turn; even
  double position_scale = 1;  // positions are divided by it
  double factor =
      1;  // Llama 3.1 scaling, off at 1: long wavelengths are divided by factor, short ones kept, a ramp between
  double low_freq_factor = 1, high_freq_factor = 4;
  double original_max_position = 8192;
  std::vector<double> inverse() const;  // n/2 numbers: radians a position
};

struct Rope {
  static constexpr std::string_view name = "rope";
  std::string x = "sbgrd";
  RopeFrequencies freq;
  int sign = 1;            // -1 turns back: the gradient
  bool positions = false;  // a second input holds them
  i64 heads = 0;           // of the dim before the last: only the first ones turn, the others pass; 0: all turn
  void fields(auto&& v) const {
    v("x", x), v("base", freq.base), v("dims", freq.dims), v("sign", sign);
    if (freq.factor != 1) v("factor", freq.factor);
    if (positions) v("positions", positions);
    if (heads) v("heads", heads);
  }
  LayoutRule rule() const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {3.0 * double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

}  // namespace megalith
