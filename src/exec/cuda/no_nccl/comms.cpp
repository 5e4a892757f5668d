// Stub for builds without NCCL.
#include "exec/cuda/comms.h"

namespace megalith::cuda {

std::unique_ptr<Comms> make_comms(Ranks& ranks, Device&) {
  fail(
      "{} ranks with a GPU each talk through NCCL, which this build was made without: install it (nccl.h and "
      "libnccl.so.2; libnccl-dev), configure and build again, or run with --device cpu",
      ranks.size());
}

}  // namespace megalith::cuda
