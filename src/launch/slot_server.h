// Lets ranks of other nodes read this agent's memory files, and write copies of their snapshots there.
#pragma once
#include <atomic>
#include <list>
#include <string>
#include <thread>

#include "comm/slot_messages.h"
#include "comm/socket.h"
#include "launch/snapshot_memory.h"

namespace megalith::launch {

class SlotServer {
 public:
  // Listens at a free port of this host, "" for all addresses. `memory` outlives it.
  SlotServer(const std::string& host, SnapshotMemory& memory);
  ~SlotServer();  // ends all connections
  SlotServer(const SlotServer&) = delete;
  SlotServer& operator=(const SlotServer&) = delete;

  SlotServerKey key() const { return {listener_.port, token_}; }

 private:
  struct Peer {
    Socket socket;
    std::thread thread{};
    std::atomic<bool> is_over = false;
  };

  void welcome();
  void serve(Peer& peer);
  bool answer(const Socket& socket, const SlotRequest& request, std::vector<std::byte>& bytes);

  SnapshotMemory& memory_;
  const std::string token_;
  Listener listener_;
  std::atomic<bool> is_over_ = false;
  std::list<Peer> peers_;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace megalith::launch
