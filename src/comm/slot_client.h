// The memory files of another node's agent, read and written over the network.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "comm/slot_messages.h"

namespace megalith {

// One connection, for one thread at a time. Each call is an Error if the agent is gone or refuses.
class SlotLink {
 public:
  explicit SlotLink(const SlotServerPlace& to);

  void read(int file, i64 at, std::span<std::byte> out);
  void write(int file, i64 at, std::span<const std::byte> bytes);
  int copies_of(int rank);  // the first of kSnapshotSlots files there for copies of this rank's slots

 private:
  SlotAnswer ask(const SlotRequest& request, std::span<const std::byte> bytes = {});

  Socket socket_;
  std::string to_;
};

// Writes bytes of a file over all links at the same time, 4 MiB each. Returns when the agent has all bytes. An error of
// one link ends the others after their part.
void write_over(std::span<SlotLink> links, int file, i64 at, std::span<const std::byte> bytes);

// One of the files, for any number of threads.
class FarSlot {
 public:
  FarSlot(SlotServerPlace server, int file) : server_(std::move(server)), file_(file) {}

  void read(i64 at, std::span<std::byte> out) const;

 private:
  const SlotServerPlace server_;
  const int file_;
  mutable std::mutex lock_;
  mutable std::vector<std::unique_ptr<SlotLink>> idle_;
};

}  // namespace megalith
