// The parts of a run that only several GPUs need: the ranks, their communicators, and the watch over transfers.
#pragma once
#include "exec/cuda/watch.h"

namespace megalith::cuda {

struct Peers {
  Ranks& ranks;
  Comms& comms;
  Watch& watch;
};

}  // namespace megalith::cuda
