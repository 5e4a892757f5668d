#include "exec/cuda/held_parts.h"

#include <algorithm>
#include <iterator>

namespace megalith::cuda {

// Parts begin at multiples of this, because aligned copies are fastest.
static i64 rounded(i64 bytes) {
  constexpr i64 kApart = 256;
  return (bytes + kApart - 1) / kApart * kApart;
}

i64 HeldParts::bytes_of(std::span<const DeferredMemory::Part> parts) {
  i64 bytes = 0;
  for (const DeferredMemory::Part& p : parts) bytes += rounded(p.bytes);
  return bytes;
}

HeldParts::HeldParts(Device& device, std::span<const DeferredMemory::Part> parts)
    : device_(device), bytes_(std::max<i64>(bytes_of(parts), 1)), memory_(try_device_memory(bytes_)) {
  check(memory_ != nullptr, "cannot allocate {} bytes on {} for the state, {} are free", bytes_, device.name(),
        device.free_bytes());
  i64 at = 0;
  for (const DeferredMemory::Part& p : parts) {
    parts_.emplace(p.leaf->offset + p.begin, Held{p.bytes, at});
    at += rounded(p.bytes);
  }
  check_cuda(cudaMemsetAsync(memory_.get(), 0, size_t(bytes_), device.stream()), "zeroing memory for the state");
}

std::byte* HeldParts::at(const Leaf& leaf, i64 begin, i64 bytes) const {
  const i64 first = leaf.offset + begin;
  const auto next = parts_.upper_bound(first);
  check(next != parts_.begin(), "leaf {} has no memory yet", leaf.name);
  const auto& [start, held] = *std::prev(next);
  check(first + bytes <= start + held.bytes, "bytes {} to {} of leaf {} have no memory yet", begin, begin + bytes,
        leaf.name);
  return memory_.get() + held.at + (first - start);
}

void HeldParts::move_to(std::byte* arena) {
  for (const auto& [start, held] : parts_)
    check_cuda(cudaMemcpyAsync(arena + start, memory_.get() + held.at, size_t(held.bytes), cudaMemcpyDeviceToDevice,
                               device_.stream()),
               "moving the state");
  check_cuda(cudaStreamSynchronize(device_.stream()), "moving the state");
}

}  // namespace megalith::cuda
