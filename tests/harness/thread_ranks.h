// Ranks that are threads of one process: the same interface as MPI's, so that what runs between ranks can be tested
// without a launcher.
#pragma once
#include <functional>

#include "comm/ranks.h"

namespace megalith::harness {

// Calls f on `n` threads at once, each with its own rank. What one throws is thrown here; the others' waits then end
// with an error too.
void run_ranks(int n, const std::function<void(Ranks&)>& f);

}  // namespace megalith::harness
