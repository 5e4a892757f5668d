// Of an interpreter whose device reaches the host's memory only after a while, beside the work: what tells when.
#pragma once

namespace megalith {

class HostMemoryAhead {
 public:
  virtual ~HostMemoryAhead() = default;
  // Whether copies to Interpreter::host_memory() begin without waiting. Waits so long for it.
  virtual bool is_host_memory_ready(double seconds) const = 0;
};

}  // namespace megalith
