// The iterations since the last log line. A checkpoint keeps them, so the next line of a resumed run is the same as
// without the interruption.
#pragma once
#include <vector>

#include "base/named_value.h"

namespace megalith {

struct Interval {
  std::vector<NamedValue> sums{};  // averages, sums and maxima: "lm loss"
  i64 advanced = 0;                // steps that counted
  i64 skipped = 0;
  i64 nan = 0;  // iterations with a loss that is not finite, skipped or not (Megatron looks at skipped ones only)
  i64 iterations() const { return advanced + skipped; }
};

}  // namespace megalith
