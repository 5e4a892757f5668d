// What a run on several GPUs has beside its own: the ranks, what moves data between them, and the watch over it.
#pragma once
#include "exec/cuda/watch.h"

namespace megalith::cuda {

struct Peers {
  Ranks& ranks;
  Comms& comms;
  Watch& watch;
};

}  // namespace megalith::cuda
