// Plans that omit one relayout must train differently.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// Runs each layout of a list as planned. Then runs it once for each kind of relayout in its plan, without one relayout
// of this kind. Returns the number of faults that change no number by more than kTolerance.
int mistakes(const Hall& at);

}  // namespace megalith::parity
