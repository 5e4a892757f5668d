// Matches incoming messages with the receives that were posted for them.
#include "comm/links.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstring>

#include "comm/links_parts.h"
#include "comm/near_memory.h"

namespace megalith {

// The watch names a rank that is gone sooner, and better. A hang must not be assumed before.
constexpr double kLinkWatchSeconds = 1.5;

// Receives the messages of one rank.
class Links::FromPeer final : public DataLink::Taker {
 public:
  FromPeer(Links& links, int peer) : links_(links), peer_(peer) {}
  void take(const DataHeader& h, const std::byte* bytes) override { links_.take(peer_, h, bytes); }
  std::byte* place(const DataHeader& body) override {
    const auto& wanted = links_.peers_[size_t(peer_)]->wanted;
    const auto at = wanted.find(body.number);
    check(at != wanted.end() && at->second.bytes == body.bytes, "exchange: rank {} sent {} bytes that nobody wants",
          peer_, body.bytes);
    return at->second.data;
  }
  void placed(const DataHeader& body) override {
    auto& wanted = links_.peers_[size_t(peer_)]->wanted;
    links_.finish(wanted.at(body.number).ticket, peer_);
    wanted.erase(body.number);
  }

 private:
  Links& links_;
  const int peer_;
};

int Links::exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) {
  const int ticket = next_ticket_++;
  for (const Piece& p : receives)
    if (p.bytes > 0) ++under_way_[ticket][p.peer];
  for (const Piece& p : sends)
    if (p.bytes > 0) ++under_way_[ticket][p.peer];
  for (const Piece& p : receives)
    if (p.bytes > 0) post_receive(ticket, tag, p);
  for (const Piece& p : sends)
    if (p.bytes > 0) post_send(ticket, tag, p);
  for (const Piece& p : receives) flush(p.peer);
  for (const Piece& p : sends) flush(p.peer);
  return ticket;
}

void Links::post_send(int ticket, int tag, const Piece& p) {
  connect(p.peer);
  Peer& peer = *peers_[size_t(p.peer)];
  DataHeader h{.kind = DataHeader::whole, .tag = tag, .bytes = u64(p.bytes)};
  if (p.bytes <= kLargestWhole) return peer.send(h, p.data, ticket);
  h.kind = DataHeader::offer;
  h.number = peer.offers++;
  h.address = reinterpret_cast<u64>(p.data);
  peer.offered[h.number] = {ticket, p.data, h.bytes};
  peer.send(h);
}

void Links::post_receive(int ticket, int tag, const Piece& p) {
  connect(p.peer);
  Peer& peer = *peers_[size_t(p.peer)];
  const Posted posted{ticket, static_cast<std::byte*>(p.data), u64(p.bytes)};
  const auto first = peer.arrived.find(tag);
  if (first == peer.arrived.end()) {
    peer.posted[tag].push_back(posted);
    return;
  }
  const Arrived arrived = std::move(first->second.front());
  first->second.pop_front();
  if (first->second.empty()) peer.arrived.erase(first);
  match(p.peer, posted, arrived.header, arrived.bytes.data());
}

void Links::take(int from, const DataHeader& h, const std::byte* bytes) {
  Peer& peer = *peers_[size_t(from)];
  if (h.kind == DataHeader::welcome) {
    peer.is_open = true;
    for (const auto& [header, what] : peer.held) peer.link->send(header, what.first, what.second);
    peer.held.clear();
  } else if (h.kind == DataHeader::wanted) {
    const Offered o = peer.offered.at(h.number);
    peer.offered.erase(h.number);
    peer.send({.kind = DataHeader::body, .number = h.number, .bytes = o.bytes}, o.data, o.ticket);
  } else if (h.kind == DataHeader::taken) {
    finish(peer.offered.at(h.number).ticket, from);
    peer.offered.erase(h.number);
  } else if (const auto first = peer.posted.find(h.tag); first != peer.posted.end()) {
    const Posted posted = first->second.front();
    first->second.pop_front();
    if (first->second.empty()) peer.posted.erase(first);
    match(from, posted, h, bytes);
  } else {
    Arrived arrived{h, {}};
    if (h.kind == DataHeader::whole) arrived.bytes.assign(bytes, bytes + h.bytes);
    peer.arrived[h.tag].push_back(std::move(arrived));
  }
}

void Links::match(int from, const Posted& posted, const DataHeader& h, const std::byte* bytes) {
  Peer& peer = *peers_[size_t(from)];
  check(h.bytes == posted.bytes, "exchange: rank {} sent {} bytes instead of {}", from, h.bytes, posted.bytes);
  if (h.kind == DataHeader::whole) {
    std::memcpy(posted.data, bytes, posted.bytes);
    return finish(posted.ticket, from);
  }
  if (peer.is_near && read_near(members_[size_t(from)].pid, h.address, posted.data, posted.bytes)) {
    peer.send({.kind = DataHeader::taken, .number = h.number});
    return finish(posted.ticket, from);
  }
  peer.is_near = false;  // the system forbids it
  peer.wanted[h.number] = posted;
  peer.send({.kind = DataHeader::wanted, .number = h.number});
}

void Links::finish(int ticket, int from) {
  const auto at = under_way_.find(ticket);
  if (--at->second.at(from) == 0) at->second.erase(from);
  if (at->second.empty()) under_way_.erase(at);
}

bool Links::done(int ticket) {
  if (!under_way_.contains(ticket)) return true;
  move_on();
  const auto at = under_way_.find(ticket);
  if (at == under_way_.end()) return true;
  for (const auto& [peer, pieces] : at->second) check_alive(peer);
  return false;
}

std::vector<int> Links::missing(int ticket) const {
  std::vector<int> peers;
  for (const auto& [peer, pieces] : under_way_.at(ticket)) peers.push_back(peer);
  return peers;
}

void Links::move_on() {
  epoll_event events[64];
  const int n = epoll_wait(wake_.fd(), events, int(std::size(events)), 0);
  for (int i = 0; i < n; ++i) {
    const u32 who = events[i].data.u32;
    if (who == kAtListener || who == kAtStranger)
      welcome_strangers();
    else
      hear(int(who));
  }
}

void Links::hear(int from) {
  Peer& peer = *peers_[size_t(from)];
  FromPeer taker(*this, from);
  peer.link->read(taker);
  flush(from);
  if (!peer.link->is_closed() || peer.closed) return;
  poll_for(EPOLL_CTL_DEL, peer.link->fd(), 0, 0);
  if (!peer.is_open && from < place_.rank) {
    peer.why += fmt::format("{}no rank of this run answers", peer.why.empty() ? "" : ", ");
    try_next_address(from);
  } else {
    peer.closed = std::chrono::steady_clock::now();
  }
}

void Links::flush(int to) {
  Peer& peer = *peers_[size_t(to)];
  if (!peer.link) return;
  std::vector<int> left;
  peer.link->write(left);
  for (const int ticket : left) finish(ticket, to);
  const bool waits = peer.link->has_more() && !peer.link->is_closed();
  if (waits == peer.waits_for_room || peer.closed) return;
  peer.waits_for_room = waits;
  poll_for(EPOLL_CTL_MOD, peer.link->fd(), u32(to), EPOLLIN | (waits ? u32(EPOLLOUT) : 0));
}

void Links::check_alive(int rank) const {
  const Peer& peer = *peers_[size_t(rank)];
  check(!peer.closed || seconds_since(*peer.closed) < kLinkWatchSeconds,
        "rank {} lost its connection to {}: see that rank's message and the network", place_.rank,
        name_of(members_[size_t(rank)]));
}

void Links::drop(int rank) {
  if (const auto& link = peers_[size_t(rank)]->link) shutdown(link->fd(), SHUT_RDWR);
}

}  // namespace megalith
