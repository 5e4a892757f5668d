// Ranks with only RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. For texts each rank has a connection to rank 0. A
// rank sends the run's size and its number; rank 0 accepts, or sends the reason of its refusal. Host buffers have
// separate links.
#include <sys/socket.h>

#include <charconv>
#include <list>

#include "base/check.h"
#include "comm/connection.h"
#include "comm/gather.h"
#include "comm/links.h"
#include "comm/patience.h"
#include "comm/transport.h"

namespace megalith {
namespace {

constexpr i64 kLongestGreeting = 1024;
constexpr char kWelcome = 'W', kRefusal = 'E';

std::string greeting(int size) { return fmt::format("megalith star 1: {} ranks, this is ", size); }

class TcpTransport final : public Transport {
 public:
  TcpTransport(const Place& place, double timeout_seconds, const LinkWays& ways)
      : place_(place), ranks_(size_t(place.size)) {
    if (place.rank == 0)
      welcome_all(timeout_seconds);
    else
      greet_hub(timeout_seconds);
    links_.emplace(place, ways, [&](const std::string& mine) {
      return gather_texts(*this, place, mine, timeout_seconds, "joining the run");
    });
  }

  void send(int peer, std::string text) override {
    check(i64(text.size()) <= kMessageBytes, "a text of {} bytes is too long: at most {}", text.size(), kMessageBytes);
    at(peer).send(text);
  }

  bool receive(int peer, std::string& text) override {
    Connection& c = at(peer);
    c.flush();
    std::optional<std::string> frame = c.next();
    if (frame) text = std::move(*frame);
    if (!frame && c.is_closed()) check_watched(peer);
    return frame.has_value();
  }

  bool sent() override {
    bool all = true;
    for (auto& c : ranks_) {
      if (!c) continue;
      c->flush();
      all = all && c->is_flushed();
    }
    return all;
  }

  int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) override {
    return links_->exchange(tag, sends, receives);
  }
  bool done(int ticket) override { return links_->done(ticket); }
  std::vector<int> missing(int ticket) const override { return links_->missing(ticket); }
  int wake_fd() const override { return links_->wake_fd(); }
  void close() override {}
  void drop(int peer) override {
    for (int r = 0; r < place_.size; ++r) {
      if (peer >= 0 && r != peer) continue;
      if (ranks_[size_t(r)]) shutdown(ranks_[size_t(r)]->fd(), SHUT_RDWR);
      links_->drop(r);
    }
  }

 private:
  Connection& at(int peer) {
    check(ranks_.at(size_t(peer)).has_value(), "ranks {} and {} have no connection", place_.rank, peer);
    return *ranks_[size_t(peer)];
  }

  // The watch ends this rank sooner, and names a rank that is gone better.
  void check_watched(int peer) {
    constexpr double kWatchSeconds = 5;
    if (!closed_) closed_.emplace(kWatchSeconds);
    check(!closed_->is_over(), "rank {} lost its connection to rank {}: see that rank's message and the network",
          place_.rank, peer);
  }

  void greet_hub(double timeout_seconds) {
    const Patience until(timeout_seconds);
    std::string why;
    while (!until.is_over()) {
      Connection c(connect_to(place_.master_address, place_.master_port, 5, why), kLongestGreeting);
      if (c.fd() >= 0 && is_welcome(c, until, why)) {
        c.allow(kMessageBytes);
        ranks_[0].emplace(std::move(c));
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // rank 0 may start later than this one
    }
    fail(
        "rank {} could not reach rank 0 at {} port {} within {} s ({}): see that rank 0 runs and that the port is open",
        place_.rank, place_.master_address, place_.master_port, timeout_seconds, why);
  }

  bool is_welcome(Connection& c, const Patience& until, std::string& why) const {
    c.send(greeting(place_.size) + std::to_string(place_.rank));
    Patience patience(10);
    while (!c.is_closed() && !patience.is_over() && !until.is_over()) {
      if (const auto answer = c.next()) {
        check(!answer->starts_with(kRefusal), "rank 0 at {} port {} refused rank {}: {}", place_.master_address,
              place_.master_port, place_.rank, answer->substr(1));
        return *answer == std::string(1, kWelcome);
      }
      patience.pause();
    }
    why = "what listens there is no rank 0 of this program";
    return false;
  }

  void welcome_all(double timeout_seconds) {
    const Listener listener = open();
    std::list<Connection> strangers;
    Patience patience(timeout_seconds);
    while (true) {
      if (Socket s = listener.accept(); s && strangers.size() < ranks_.size() + 64)
        strangers.emplace_back(std::move(s), kLongestGreeting);
      strangers.remove_if([&](Connection& c) { return is_settled(c); });
      const std::vector<int> missing = not_here();
      if (missing.empty()) return;
      check(!patience.is_over(),
            "{} did not come to {} port {} within {} s: see that WORLD_SIZE={} processes were started",
            list_ranks(missing), place_.master_address, place_.master_port, timeout_seconds, place_.size);
      patience.pause();
    }
  }

  // Only on the loopback address if that is the master's address.
  Listener open() const {
    try {
      return listen_at(is_loopback(place_.master_address) ? place_.master_address : "", place_.master_port);
    } catch (const Error& e) {
      fail("rank 0 of RANK and WORLD_SIZE: {}: set MASTER_PORT to a free port", e.what());
    }
  }

  bool is_settled(Connection& c) {
    const auto frame = c.next();
    if (!frame) return c.is_closed();
    const std::string_view text = *frame;
    const std::string expected = greeting(place_.size);
    int rank = -1;
    if (text.starts_with(expected)) std::from_chars(text.data() + expected.size(), text.data() + text.size(), rank);
    if (rank < 1 || rank >= place_.size)
      c.send(fmt::format("{}rank 0 belongs to a run of {} ranks", kRefusal, place_.size));
    else if (ranks_[size_t(rank)])
      c.send(fmt::format("{}another process is RANK={} already", kRefusal, rank));
    else {
      c.send({&kWelcome, 1});
      c.allow(kMessageBytes);
      ranks_[size_t(rank)].emplace(std::move(c));
    }
    return true;
  }

  std::vector<int> not_here() const {
    std::vector<int> missing;
    for (int r = 1; r < place_.size; ++r)
      if (!ranks_[size_t(r)]) missing.push_back(r);
    return missing;
  }

  const Place place_;
  std::vector<std::optional<Connection>> ranks_;
  std::optional<Links> links_;
  std::optional<Patience> closed_;  // since the first of these connections was
};

}  // namespace

std::unique_ptr<Transport> make_star_transport(const Place& place, double timeout_seconds, const LinkWays& ways) {
  return std::make_unique<TcpTransport>(place, timeout_seconds, ways);
}

}  // namespace megalith
