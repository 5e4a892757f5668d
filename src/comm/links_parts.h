// Data of Links for each rank, and for connections that have not identified themselves.
#pragma once
#include <chrono>
#include <deque>
#include <string>
#include <utility>

#include "base/check.h"
#include "comm/links.h"

namespace megalith {

using Moment = std::chrono::steady_clock::time_point;

inline double seconds_since(Moment t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

struct Links::Peer {
  int port = 0;
  std::string token;
  std::vector<std::string> addresses;  // those not tried yet
  std::string why;                     // the others failed
  std::unique_ptr<DataLink> link;
  bool is_open = false, waits_for_room = false, is_near = false;
  std::optional<Moment> closed;
  std::vector<std::pair<DataHeader, std::pair<const void*, int>>> held;  // until it is open
  std::map<int, std::deque<Posted>> posted;                              // by tag
  std::map<int, std::deque<Arrived>> arrived;                            // by tag
  std::map<u64, Posted> wanted;                                          // by the number of the peer's offer
  std::map<u64, Offered> offered;                                        // by the number of our own
  u64 offers = 0;

  void send(const DataHeader& h, const void* bytes = nullptr, int ticket = -1) {
    if (is_open)
      link->send(h, bytes, ticket);
    else
      held.push_back({h, {bytes, ticket}});
  }
};

// Someone who has connected, and is to say the token first.
struct Links::Stranger final : DataLink::Taker {
  Stranger(Socket socket, const std::string& token, i64 chunk)
      : link(std::make_unique<DataLink>(std::move(socket), chunk)), token_(token) {}
  void take(const DataHeader& h, const std::byte* bytes) override {
    is_wrong = h.kind != DataHeader::hello || rank >= 0 ||
               std::string_view(reinterpret_cast<const char*>(bytes), h.bytes) != token_;
    rank = h.tag;
  }
  std::byte* place(const DataHeader&) override { fail("a stranger sent a piece"); }
  void placed(const DataHeader&) override {}

  std::unique_ptr<DataLink> link;
  int rank = -1;
  bool is_wrong = false;
  Moment since = std::chrono::steady_clock::now();

 private:
  const std::string& token_;
};

}  // namespace megalith
