// Rotary position embedding (Su et al. 2021): for i < n/2 a pair turns by position * freq_i; dims from n on pass. The
// pair is (x_i, x_{i+n/2}), or (x_{2i}, x_{2i+1}) if interleaved. The angle comes from the global position, or from an
// i32 input positions [s,b]. x [s,b,..,d].
#pragma once
#include "graph/builder.h"

namespace megalith {

struct RopeFrequencies {
  double base = 10000;
  i64 dims = 0;               // n: how many of the d dims turn; even
  i64 width = 0;              // exponents are 2i / width; 0: n. Odd where n was rounded up
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
  bool interleaved = false;
  void fields(auto&& v) const {
    v("x", x), v("base", freq.base), v("dims", freq.dims), v("sign", sign);
    if (freq.width) v("width", freq.width);
    if (freq.position_scale != 1) v("position_scale", freq.position_scale);
    if (freq.factor != 1) v("factor", freq.factor);
    if (positions) v("positions", positions);
    if (heads) v("heads", heads);
    if (interleaved) v("interleaved", interleaved);
  }
  LayoutRule rule() const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {3.0 * double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

}  // namespace megalith
