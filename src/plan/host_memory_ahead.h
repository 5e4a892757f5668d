// For an interpreter that pins host memory in the background: whether it is ready.
#pragma once

namespace megalith {

class HostMemoryAhead {
 public:
  virtual ~HostMemoryAhead() = default;
  // Whether copies to Interpreter::host_memory() can start now. Waits at most `seconds` for it.
  virtual bool is_host_memory_ready(double seconds) const = 0;
};

}  // namespace megalith
