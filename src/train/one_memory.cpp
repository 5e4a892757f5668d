#include "train/one_memory.h"

#include "base/log.h"

namespace megalith {

void warn_of_one_memory(const Options& options, const Backend& backend) {
  if (backend.host_bytes()) return;
  if (options.optimizer.optimizer_cpu_offload)
    log::warn(
        "--optimizer-cpu-offload frees no memory on the CPU, whose memory is the host's: it only copies state "
        "to and fro, and adds rows to the memory report; leave it out");
  if (options.offload.on)
    log::warn(
        "--fine-grained-activation-offloading frees no memory on the CPU, whose memory is the host's: it only copies "
        "activations to and fro, and adds a row to the memory report; leave it out");
}

}  // namespace megalith
