#include "train/one_memory.h"

#include "base/log.h"

namespace megalith {

void warn_of_one_memory(const Options& options, const Backend& backend) {
  if (backend.host_bytes()) return;
  if (options.optimizer.optimizer_cpu_offload)
    log::warn(
        "--optimizer-cpu-offload on the CPU, whose memory is the host's, frees none of it: state is copied to and fro "
        "and has rows of its own in the memory report; leave it out");
  if (options.offload.on)
    log::warn(
        "--fine-grained-activation-offloading on the CPU, whose memory is the host's, frees none of it: activations "
        "are copied to and fro and have a row of their own in the memory report; leave it out");
}

}  // namespace megalith
