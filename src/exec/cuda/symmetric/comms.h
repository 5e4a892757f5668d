// Communicators in symmetric memory, where all ranks of a group share a host with NVLink. All others are of another
// implementation.
#pragma once
#include <map>
#include <set>

#include "exec/cuda/comms.h"
#include "exec/cuda/device_memory.h"
#include "exec/cuda/pinned.h"
#include "exec/cuda/streams.h"
#include "exec/cuda/symmetric/collectives.h"
#include "exec/cuda/symmetric/memory.h"

namespace megalith::cuda {

class SymmetricComms final : public Comms {
 public:
  struct Settings {
    bool takes_part = true;  // false: all groups of this rank are of the other implementation
    // Of a transfer at most. Those of all ranks that share a GPU must fit on it at once.
    int blocks = kMostSymmetricBlocks;
  };
  SymmetricComms(Ranks& ranks, Device& device, std::unique_ptr<Comms> others, const Settings& settings);
  ~SymmetricComms() override;

  void connect(const std::vector<CommunicatorGroup>& mine) override;
  Comm& at(const CommunicatorGroup& group) override;
  void share(std::byte* arena, i64 bytes, const std::string& layout) override;
  void unshare(const std::byte* arena) override { memory_.unshare(arena); }
  i64 sharing_bytes(i64 arena_bytes) const override { return i64(peers_.size()) * mapping_bytes(arena_bytes); }
  bool copies() const { return copies_; }  // whether lanes use copy engines
  std::string error() override { return others_->error(); }
  void abort() override;

 private:
  class Member;
  void begin();
  bool can_copy();

  Ranks& ranks_;
  Device& device_;
  const int blocks_;
  std::unique_ptr<Comms> others_;
  SymmetricMemory memory_;
  DeviceMemory words_;                        // MeetingWords by number of the group
  Pinned aborted_;                            // one u32
  Lane release_;                              // ends meetings of streams that wait in vain
  bool copies_ = false;                       // whether lanes use copy engines
  std::map<int, int> made_;                   // by host: number of groups
  std::map<CommunicatorGroup, int> numbers_;  // of the symmetric groups of all hosts, each by its host
  std::vector<CommunicatorGroup> own_;        // symmetric groups of the last plan that was connected
  std::set<int> peers_;                       // the other ranks of these groups
  std::map<CommunicatorGroup, std::unique_ptr<Member>> members_;
};

}  // namespace megalith::cuda
