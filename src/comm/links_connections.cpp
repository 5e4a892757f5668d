// How two ranks come to have a link.
#include <sys/epoll.h>

#include <cstring>
#include <sstream>

#include "comm/links_parts.h"
#include "comm/token.h"

namespace megalith {

constexpr double kConnectSeconds = 3;

Links::~Links() = default;

Links::Links(const Place& place, const LinkWays& ways, const Gather& gather)
    : place_(place), ways_(ways), token_(random_token()), wake_(epoll_create1(EPOLL_CLOEXEC)) {
  bool share_network = true;
  for (const std::string& text : gather(Member::self(place.rank).text())) members_.push_back(Member::from_text(text));
  const Member& self = members_[size_t(place.rank)];
  for (const Member& m : members_) share_network = share_network && m.network == self.network;
  listener_ = listen_at(share_network ? "127.0.0.1" : "", 0);
  poll_for(EPOLL_CTL_ADD, listener_.socket.fd(), kAtListener, EPOLLIN);
  std::string invitation = fmt::format("{} {}", listener_.port, token_);
  if (place.rank == 0 && !place.master_address.empty()) invitation += " " + place.master_address;
  for (const std::string& address : own_addresses()) invitation += " " + address;
  for (const std::string& text : gather(invitation)) {
    auto peer = std::make_unique<Peer>();
    const Member& member = members_[peers_.size()];
    std::istringstream in(text);
    check(bool(in >> peer->port >> peer->token), "rank {} sent no address: do all ranks run the same program?",
          peers_.size());
    for (std::string address; in >> address;) peer->addresses.push_back(address);
    if (member.network == self.network) peer->addresses = {"127.0.0.1"};
    peer->is_near = ways.reads_near && member.processes == self.processes;
    peers_.push_back(std::move(peer));
  }
}

void Links::poll_for(int change, int fd, u32 who, u32 events) {
  epoll_event event{};
  event.events = events;
  event.data.u32 = who;
  check(epoll_ctl(wake_.fd(), change, fd, &event) == 0, "cannot watch a connection: {}", std::strerror(errno));
}

// Of two ranks the higher one.
void Links::connect(int to) {
  if (peers_[size_t(to)]->link == nullptr && to < place_.rank) try_next_address(to);
}

void Links::try_next_address(int to) {
  Peer& peer = *peers_[size_t(to)];
  while (!peer.addresses.empty()) {
    const std::string address = peer.addresses.front();
    peer.addresses.erase(peer.addresses.begin());
    std::string reason;
    Socket socket = connect_to(address, peer.port, kConnectSeconds, reason);
    peer.why +=
        fmt::format("{}{} port {}{}", peer.why.empty() ? "" : ", ", address, peer.port, socket ? "" : ": " + reason);
    if (!socket) continue;
    peer.link = std::make_unique<DataLink>(std::move(socket), ways_.chunk_bytes);
    peer.waits_for_room = false;
    poll_for(EPOLL_CTL_ADD, peer.link->fd(), u32(to), EPOLLIN);
    peer.link->send({.kind = DataHeader::hello, .tag = place_.rank, .bytes = peer.token.size()}, peer.token.data());
    return flush(to);
  }
  fail("rank {} can't reach {} ({}): allow TCP connections between these hosts", place_.rank,
       name_of(members_[size_t(to)]), peer.why);
}

void Links::welcome_strangers() {
  constexpr double kPatience = 10;
  while (Socket s = listener_.accept()) {
    if (strangers_.size() > peers_.size() + 16) continue;  // closes it
    strangers_.push_back(std::make_unique<Stranger>(std::move(s), token_, ways_.chunk_bytes));
    poll_for(EPOLL_CTL_ADD, strangers_.back()->link->fd(), kAtStranger, EPOLLIN);
  }
  strangers_.remove_if([&](const std::unique_ptr<Stranger>& s) {
    s->link->read(*s);
    if (s->is_wrong || s->link->is_closed() || seconds_since(s->since) > kPatience) return true;
    if (s->rank < 0) return false;
    if (s->rank <= place_.rank || s->rank >= place_.size || peers_[size_t(s->rank)]->link) return true;
    Peer& peer = *peers_[size_t(s->rank)];
    peer.link = std::move(s->link);
    poll_for(EPOLL_CTL_MOD, peer.link->fd(), u32(s->rank), EPOLLIN);
    peer.link->send({.kind = DataHeader::welcome});
    take(s->rank, {.kind = DataHeader::welcome}, nullptr);
    flush(s->rank);
    return true;
  });
}

}  // namespace megalith
