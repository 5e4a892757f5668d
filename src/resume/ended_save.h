// The outcome of a save to --save.
#pragma once
#include "base/dtype.h"

namespace megalith {

struct EndedSave {
  i64 iteration = 0;
  double seconds = 0;  // duration of the save
  i64 bytes = 0;       // written by this rank
  bool is_saved = false;
};

}  // namespace megalith
