// The outcome of a save to --save.
#pragma once
#include "base/dtype.h"

namespace megalith {

struct EndedSave {
  i64 iteration = 0;
  double seconds = 0;  // from its begin to its end
  i64 bytes = 0;       // that this rank wrote
  bool is_saved = false;
};

}  // namespace megalith
