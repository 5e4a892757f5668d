// Memory of the GPU that takes parts of a plan's leaves while the plan's memory is not there yet.
#pragma once
#include <map>
#include <span>

#include "exec/cuda/device_memory.h"
#include "plan/deferred_memory.h"

namespace megalith::cuda {

class HeldParts {
 public:
  // Zeroed. Error if the memory cannot be allocated. No two parts have a byte in common.
  HeldParts(Device& device, std::span<const DeferredMemory::Part> parts);
  ~HeldParts() { cudaStreamSynchronize(device_.stream()); }  // copies to it and from it may be running
  HeldParts(const HeldParts&) = delete;
  HeldParts& operator=(const HeldParts&) = delete;

  i64 bytes() const { return bytes_; }
  static i64 bytes_of(std::span<const DeferredMemory::Part> parts);
  // The place of bytes of a leaf. Error if they are not within one part.
  std::byte* at(const Leaf& leaf, i64 begin, i64 bytes) const;
  void move_to(std::byte* arena);  // enqueues copies of all parts to the plan's memory, and waits for them

 private:
  struct Held {
    i64 bytes, at;
  };
  Device& device_;
  i64 bytes_;
  DeviceMemory memory_;
  std::map<i64, Held> parts_;  // by the part's first byte in the arena
};

}  // namespace megalith::cuda
