// Activations in the host's memory (--fine-grained-activation-offloading), held against the same run without.
#pragma once
#include "tests/parallel/hall.h"

namespace megalith::parity {

// How many layouts' runs differ in a bit, of the state or of a checkpoint.
int activations(const Hall& at);

}  // namespace megalith::parity
