// Communicators through the host's memory: any number of ranks, as threads, on one GPU. They wait at once, so they are
// for executors without graphs.
#pragma once
#include "exec/cuda/comms.h"

namespace megalith::harness {

std::unique_ptr<cuda::Comms> make_host_comms(Ranks& ranks);

}  // namespace megalith::harness
