// Ranks that are threads of one process, with MPI's interface: communication can be tested without a launcher.
#pragma once
#include <functional>

#include "comm/ranks.h"

namespace megalith::harness {

// Calls f on `n` threads at the same time, each with its own rank. If one throws, the others' waits end with an
// error, and the exception is rethrown here.
void run_ranks(int n, const std::function<void(Ranks&)>& f);

}  // namespace megalith::harness
