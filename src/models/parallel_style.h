// Choices of layouts that a run makes and a model's code does not contain.
#pragma once
#include <optional>

#include "mesh/layout.h"

namespace megalith {

struct ParallelStyle {
  bool sequence_parallel = false;  // norms, dropout and the residual stream split over tp along the sequence
  Order cp_order = Order::zigzag;  // of the sequence over cp
  bool cp_all_to_all = false;      // attention over cp: heads split (all-to-all) instead of keys and values gathered
  bool pack_qkv = false;           // one weight for q, k and v, if neither heads nor sequence are split
  // Capacity of buffers for experts' rows, as a multiple of balanced routing; none: the maximum possible.
  std::optional<double> expert_rows = {};
};

}  // namespace megalith
