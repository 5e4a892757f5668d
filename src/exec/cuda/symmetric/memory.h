// Symmetric memory: the arenas of ranks on one host, each mapped into all of them by CUDA's interprocess handles. A
// plan has a buffer at the same offset on all its ranks. So a rank knows the address of a peer's buffer.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "exec/cuda/device.h"

namespace megalith::cuda {

class SymmetricMemory {
 public:
  // A rank that does not take part shares no memory, so no other rank reaches it.
  SymmetricMemory(Ranks& ranks, Device& device, bool takes_part);
  ~SymmetricMemory();
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;

  // Learns which ranks share a host. All ranks call it once, at the same time, before the functions below.
  void find_hosts();
  // Maps the memory of `peers` on this host, where the driver does not refuse; reach_each_other() tells. All ranks call
  // it at the same time, each with its own memory from cudaMalloc, whose contents may be overwritten. `layout`: the
  // offsets of buffers, as a text without spaces.
  void share(std::byte* memory, i64 bytes, const std::string& layout, const std::set<int>& peers);
  // Unmaps what was shared with this memory. The owner frees the memory itself.
  void unshare(const std::byte* memory);

  // The host's number of a rank, from 0 on.
  int host(int rank) const { return hosts_[size_t(rank)]; }
  // Whether these ranks have all mapped the memory that each of them shared with this one, in the same layout. All
  // ranks get the same answer.
  bool reach_each_other(std::span<const int> ranks, const std::byte* memory) const;
  // The addresses of `bytes` at `mine` on these ranks, this one among them. None if they do not reach each other.
  std::optional<std::vector<std::byte*>> at(std::span<const int> ranks, const std::byte* mine, i64 bytes) const;

 private:
  struct Region {
    std::byte* mine = nullptr;
    i64 bytes = 0;
    std::vector<std::byte*> on;        // by rank; null: not mapped
    std::vector<void*> opened;         // to close
    std::vector<std::string> reached;  // by rank: '1' for each rank whose memory it has mapped, with the same layout
  };
  const Region* region_of(const std::byte* memory, i64 bytes) const;
  // Whether NVLink connects this GPU with the one at this place on the bus.
  bool is_linked(const std::string& bus);
  // Whether kernels of this GPU can access that one's memory, which another thread of this process allocated.
  bool reach(const std::string& bus) const;
  // Maps another process's memory. Null if the driver refuses.
  std::byte* open(const std::string& handle, Region& region);

  Ranks& ranks_;
  Device& device_;
  const bool takes_part_;
  const std::string process_;  // of this process: processes of several containers may have the same number
  std::vector<int> hosts_;
  std::vector<Region> regions_;
  std::map<std::string, bool> linked_;  // by place on the bus
};

}  // namespace megalith::cuda
