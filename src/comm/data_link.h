// A socket between two ranks that carries buffers of host memory. A message is a header; some kinds add a body. Bodies
// are sent from the sender's buffer, and large ones are received into the destination: no copies on the way. Never
// blocks.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "comm/socket.h"

namespace megalith {

struct DataHeader {
  enum Kind : u32 {
    hello = 0x4d4c4831,  // tag: the sender's rank; the token follows
    welcome,             // the answer
    whole,               // a small piece; its bytes follow
    offer,               // offers a large message of this many bytes, with this number
    wanted,              // the answer, when its place is known
    body,                // the bytes of an offer follow
    taken,               // reply of a receiver that has read the data directly from the sender's memory
  };
  u32 kind = 0;
  i32 tag = 0;
  u64 number = 0, bytes = 0;
  u64 address = 0;  // of an offer, in the sender's memory
};

inline constexpr i64 kLargestWhole = i64{1} << 16;  // larger pieces are offered first

class DataLink {
 public:
  // Receives a link's messages for its user.
  class Taker {
   public:
    virtual ~Taker() = default;
    virtual void take(const DataHeader& h, const std::byte* bytes) = 0;  // all kinds but body
    virtual std::byte* place(const DataHeader& body) = 0;                // the destination of this many bytes
    virtual void placed(const DataHeader& body) = 0;                     // they have arrived
  };

  // No call moves more than a chunk of one piece.
  DataLink(Socket socket, i64 chunk_bytes) : socket_(std::move(socket)), chunk_(u64(chunk_bytes)) {}

  // `bytes` stay where they are until their ticket comes back from write(). A ticket of -1 does not.
  void send(const DataHeader& h, const void* bytes = nullptr, int ticket = -1);
  void write(std::vector<int>& left);  // as much as the socket accepts
  void read(Taker& taker);             // received bytes
  bool has_more() const { return !out_.empty(); }
  bool is_closed() const { return is_closed_; }
  int fd() const { return socket_.fd(); }

 private:
  struct Out {
    DataHeader header;
    const void* bytes;
    int ticket;
    u64 size() const { return sizeof header + (bytes ? header.bytes : 0); }
  };

  void take_messages(Taker& taker);
  bool read_body(Taker& taker);  // true: there may be more
  bool read_some();
  u64 receive(void* to, u64 bytes);  // 0: no data now

  Socket socket_;
  const u64 chunk_;
  std::deque<Out> out_;
  u64 written_ = 0;  // of the first
  std::vector<std::byte> in_;
  size_t begin_ = 0, end_ = 0;  // its unread bytes
  DataHeader arriving_;         // a body with this many bytes still to receive
  std::byte* body_ = nullptr;
  u64 body_left_ = 0;
  bool is_closed_ = false;
};

}  // namespace megalith
