// How each parameter of a GPT lies over the mesh, apart from the model's text. docs/layouts.md, section 4.
#pragma once
#include <string_view>

#include "mesh/layout.h"
#include "models/config.h"

namespace megalith {

// The layout choices that a model's text does not show.
struct ParallelStyle {
  bool sequence_parallel = false;  // norms, dropout and the residual stream split over tp along the sequence
  Order cp_order = Order::zigzag;  // of the sequence over cp
  bool cp_all_to_all = false;      // attention over cp: heads split (all-to-all) instead of keys and values gathered
  bool pack_qkv = false;           // one weight for q, k and v, where neither heads nor sequence are split
};

// The layout of the parameter `name` with this many dims. Over dp and cp every parameter is Copy. Error for a name that
// is not a GPT's.
Layout gpt_layout(std::string_view name, int ndim, const ModelConfig& config, const ParallelStyle& style);

}  // namespace megalith
