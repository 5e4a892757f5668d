// Copies leaves from one pipeline stage's GPU to another's, concurrently with the programs. Each link (from, to,
// channel) has its own stream.
#pragma once
#include <map>

#include "exec/cuda/peers.h"
#include "exec/cuda/streams.h"

namespace megalith::cuda {

class Transfers {
 public:
  // `peers`: may be null if nothing is sent.
  Transfers(Device& device, const Peers* peers) : device_(device), peers_(peers) {}
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Enqueues after the work on the device's stream so far, and returns a ticket. Error if the link is not connected.
  int send(const std::byte* data, i64 bytes, int peer, int channel);
  int receive(std::byte* data, i64 bytes, int peer, int channel);
  // Later work on the device's stream waits for the transfer.
  void join(int ticket);

 private:
  struct Link {
    Comm* comm;
    int transfer;  // number in the watch
    Lane lane = {};
  };
  Link& link(int from, int to, int channel);
  int start(Link& link, std::span<const Message> sends, std::span<const Message> receives);
  int self() const;

  Device& device_;
  const Peers* peers_;
  std::map<CommunicatorGroup, Link> links_;
  std::map<int, Event> open_;  // by ticket
  std::vector<Event> spare_;
  int tickets_ = 0;
};

// The link from one rank to another on a channel.
CommunicatorGroup link_of(int from, int to, int channel);

}  // namespace megalith::cuda
