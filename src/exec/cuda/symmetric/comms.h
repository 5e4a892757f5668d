// Communicators that use symmetric memory where a group's ranks share a host with NVLink, and another implementation
// for all else.
#pragma once
#include <map>

#include "exec/cuda/comms.h"
#include "exec/cuda/device_memory.h"
#include "exec/cuda/pinned.h"
#include "exec/cuda/symmetric/collectives.h"
#include "exec/cuda/symmetric/memory.h"

namespace megalith::cuda {

class SymmetricComms final : public Comms {
 public:
  SymmetricComms(Ranks& ranks, Device& device, std::unique_ptr<Comms> others);
  ~SymmetricComms() override;

  void connect(const std::vector<CommunicatorGroup>& mine) override;
  Comm& at(const CommunicatorGroup& group) override;
  void share(std::byte* arena, i64 bytes, const std::string& layout) override;
  void unshare(const std::byte* arena) override { memory_.unshare(arena); }
  std::string error() override { return others_->error(); }
  void abort() override;

 private:
  class Member;

  Ranks& ranks_;
  std::unique_ptr<Comms> others_;
  SymmetricMemory memory_;
  DeviceMemory words_;                        // MeetingWords by number of the group; null: without symmetric memory
  Pinned aborted_;                            // one u32
  std::map<int, int> made_;                   // by host: number of groups
  std::map<CommunicatorGroup, int> numbers_;  // of the groups of one host, by host
  std::map<CommunicatorGroup, std::unique_ptr<Member>> members_;
};

}  // namespace megalith::cuda
