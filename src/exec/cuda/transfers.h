// Copies of leaves from one pipeline stage's GPU to another's, beside the programs: each link (from, to, channel) has a
// queue of its own.
#pragma once
#include <map>

#include "exec/cuda/peers.h"
#include "exec/cuda/streams.h"

namespace megalith::cuda {

class Transfers {
 public:
  // `peers`: may be missing, until something is to be moved.
  Transfers(Device& device, const Peers* peers) : device_(device), peers_(peers) {}
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Enqueue behind what the device's stream has so far; return a ticket. Error if the link is not connected.
  int send(const std::byte* data, i64 bytes, int peer, int channel);
  int receive(std::byte* data, i64 bytes, int peer, int channel);
  // What the device's stream gets from here on waits for the transfer.
  void join(int ticket);

 private:
  struct Link {
    Comm* comm;
    int transfer;  // the watch's number
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
