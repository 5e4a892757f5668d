// GPU memory for parts of a plan's leaves, until the plan's memory is allocated.
#pragma once
#include <map>
#include <span>

#include "exec/cuda/device_memory.h"
#include "plan/deferred_memory.h"

namespace megalith::cuda {

class HeldParts {
 public:
  // Allocates zeroed memory. Error if the allocation fails. Parts must not overlap.
  HeldParts(Device& device, std::span<const DeferredMemory::Part> parts);
  ~HeldParts() { cudaStreamSynchronize(device_.stream()); }  // copies to and from this memory may be running
  HeldParts(const HeldParts&) = delete;
  HeldParts& operator=(const HeldParts&) = delete;

  i64 bytes() const { return bytes_; }
  static i64 bytes_of(std::span<const DeferredMemory::Part> parts);
  // The address of bytes of a leaf. Error if the bytes are not within one part.
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
