// The data plane without MPI. Two ranks that exchange messages have a link; the first post makes it. The rank with the
// higher number connects. Small messages are sent at once, and the receiver buffers them until it posts a receive.
// Large ones are offered first, and sent when the receive is posted. On one host the receiver reads them from the
// sender's memory.
#pragma once
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/data_link.h"
#include "comm/member.h"
#include "comm/place.h"
#include "comm/ranks.h"
#include "comm/transport.h"
#include "comm/watch.h"

namespace megalith {

class Links final {
 public:
  // All ranks must call it.
  Links(const Place& place, const LinkWays& ways, const Gather& gather);
  ~Links();

  // As those of Transport.
  int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives);
  bool done(int ticket);
  std::vector<int> missing(int ticket) const;
  int wake_fd() const { return wake_.fd(); }
  void drop(int peer);  // as Ranks::drop_connections

 private:
  struct Posted {  // a piece that is expected
    int ticket;
    std::byte* data;
    u64 bytes;
  };
  struct Arrived {  // a message, or an offer of one, without a posted receive
    DataHeader header;
    std::vector<std::byte> bytes;
  };
  struct Offered {
    int ticket;
    const void* data;
    u64 bytes;
  };
  static constexpr u32 kAtListener = ~0u, kAtStranger = ~0u - 1;  // in epoll's events; others are ranks
  struct Peer;
  struct Stranger;
  class FromPeer;

  void connect(int to);
  void try_next_address(int to);
  void welcome_strangers();
  void poll_for(int change, int fd, u32 who, u32 events);

  void post_send(int ticket, int tag, const Piece& p);
  void post_receive(int ticket, int tag, const Piece& p);
  void move_on();
  void hear(int from);
  void flush(int to);
  void take(int from, const DataHeader& h, const std::byte* bytes);
  void match(int from, const Posted& posted, const DataHeader& h, const std::byte* bytes);
  void finish(int ticket, int from);
  void check_alive(int rank) const;

  const Place place_;
  const LinkWays ways_;
  const std::string token_;  // of this rank's listener
  Listener listener_;
  Socket wake_;  // an epoll instance
  std::vector<Member> members_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank
  std::list<std::unique_ptr<Stranger>> strangers_;
  std::map<int, std::map<int, int>> under_way_;  // by ticket: pieces that are not done, by peer
  int next_ticket_ = 0;
};

}  // namespace megalith
