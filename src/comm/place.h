// The position of this process in a run, from its launcher.
#pragma once
#include <functional>
#include <string>

namespace megalith {

struct Place {
  int rank = 0, size = 1;              // among all processes
  int local_rank = 0, local_size = 1;  // among those of this host: picks the GPU
  std::string launcher = "alone";      // "launch", "mpirun", "srun", "environment" (torchrun, PyTorchJob) or "alone"
  std::string master_address{};        // where rank 0 can be reached, with "launch" and "environment"
  int master_port = 0;
  bool tells_local_size = true;  // otherwise local_size is the least that it can be, and joining counts the ranks
  bool operator==(const Place&) const = default;
};

using Environment = std::function<const char*(const char* name)>;  // std::getenv, or a test's

// Reads the launchers' variables by the table in docs/parallelism.md. Error if they contradict one another or are no
// numbers.
Place find_place(const Environment& env);

}  // namespace megalith
