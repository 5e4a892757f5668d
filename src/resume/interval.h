// Sums since the last log line. A checkpoint keeps them, so the next line of a resumed run is the same as without an
// interruption.
#pragma once
#include <vector>

#include "base/named_value.h"

namespace megalith {

struct Interval {
  std::vector<NamedValue> sums{};  // sums, averages and maxima by name, such as "lm loss"
  i64 advanced = 0;                // steps that changed the weights
  i64 skipped = 0;
  i64 nan = 0;  // iterations with a non-finite loss, skipped or not (Megatron counts only skipped ones)
  i64 iterations() const { return advanced + skipped; }
};

}  // namespace megalith
