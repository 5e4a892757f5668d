// Symmetric memory: the arenas of ranks on one host, each mapped into all of them by CUDA's interprocess handles. Ranks
// with the same plan have the same buffer at the same offset, so a rank knows the address of a peer's buffer.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "exec/cuda/device.h"

namespace megalith::cuda {

class SymmetricMemory {
 public:
  // All ranks construct it at the same time: they learn which of them share a host.
  SymmetricMemory(Ranks& ranks, Device& device);
  ~SymmetricMemory();
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;

  // Maps the memory of all ranks on this host, which need not have contents yet: they are overwritten. All ranks call
  // it at the same time, each with its own memory from cudaMalloc. `layout`: the offsets of buffers, as a text without
  // spaces. Nothing is mapped where the driver refuses; at() tells.
  void share(std::byte* memory, i64 bytes, const std::string& layout);
  // Unmaps what was shared with this memory. The owner frees the memory itself.
  void unshare(const std::byte* memory);

  // The host's number of a rank, from 0 on.
  int host(int rank) const { return hosts_[size_t(rank)]; }
  // The addresses of `bytes` at `mine` on these ranks. None unless all of them have mapped each other's memory, with
  // the same layout. All these ranks get the same answer.
  std::optional<std::vector<std::byte*>> at(std::span<const int> ranks, const std::byte* mine, i64 bytes) const;

 private:
  struct Region {
    std::byte* mine = nullptr;
    i64 bytes = 0;
    std::vector<std::byte*> on;        // by rank; null: not mapped
    std::vector<void*> opened;         // to close
    std::vector<std::string> reached;  // by rank: '1' for each rank whose memory it has mapped, with the same layout
  };
  // Whether kernels of this GPU can access that one's memory.
  bool reach(int gpu) const;
  // Maps another process's memory. Null if the driver refuses.
  std::byte* open(const std::string& handle, Region& region);

  Ranks& ranks_;
  Device& device_;
  std::vector<int> hosts_;
  std::vector<Region> regions_;
};

}  // namespace megalith::cuda
