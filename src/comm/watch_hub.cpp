// Rank 0's side of the watch: hears all, and decides when and for whom all end.
#include <charconv>
#include <list>

#include "comm/watch_posts.h"

namespace megalith {
namespace {

class Hub final : public Post {
 public:
  Hub(const WatchPlace& place, WatchMailbox& mailbox, Listener listener, const std::string& token)
      : place_(place), mailbox_(mailbox), listener_(std::move(listener)), token_(token), peers_(place.members.size()) {}

  bool is_over() const override { return is_over_; }

  std::vector<int> fds() const override {
    std::vector<int> all = {listener_.socket.fd()};
    for (const Stranger& s : strangers_) all.push_back(s.connection.fd());
    for (const Peer& p : peers_)
      if (p.connection && !p.connection->is_closed()) all.push_back(p.connection->fd());
    return all;
  }

  void step(double now, int signal) override {
    now_ = now;
    welcome();
    for (int r = 1; r < int(peers_.size()) && !is_over_; ++r) hear(r);
    if (now_ - beaten_ >= kBeatSeconds) beat();
    if (signal != 0) told(0, signal_name(signal)), signal_ = signal;
    if (mailbox_.wish() == WatchMailbox::Wish::failed) failed(0, mailbox_.error());
    if (suspect_ && now_ >= suspect_->until) end(suspect_->cause);
    if (mailbox_.wish() == WatchMailbox::Wish::farewell && all_said_farewell()) finish();
  }

 private:
  struct Peer {
    std::optional<Connection> connection;
    double heard = 0;
    std::string at;
    bool has_said_farewell = false;
  };
  struct Stranger {
    Connection connection;
    double since;
  };
  struct Cause {
    int rank;
    std::string what;
    bool is_stopped = false;
  };
  // A possible consequence of another rank's death, which will soon be noticed here: a launcher that has noticed it
  // ends other ranks, and waits for that rank fail.
  struct Suspect {
    Cause cause;
    double until;
    bool is_vague = false;  // any other is better
  };

  void welcome() {
    if (Socket s = listener_.accept(); s && strangers_.size() < peers_.size() + 16)
      strangers_.push_back({Connection(std::move(s), frame::kLongest), now_});
    strangers_.remove_if([&](Stranger& s) {
      const auto hello = s.connection.next();
      if (!hello) return s.connection.is_closed() || now_ - s.since > 10;
      int rank = 0;
      const std::string expected = frame::kHello + token_ + " ";
      if (hello->starts_with(expected))
        std::from_chars(hello->data() + expected.size(), hello->data() + hello->size(), rank);
      if (rank < 1 || rank >= int(peers_.size()) || peers_[size_t(rank)].connection) return true;
      Peer& peer = peers_[size_t(rank)];
      peer.connection.emplace(std::move(s.connection));
      peer.connection->send(beat_text());
      peer.heard = now_;
      return true;
    });
  }

  void hear(int rank) {
    Peer& peer = peers_[size_t(rank)];
    if (!peer.connection) return;
    while (const auto text = peer.connection->next()) {
      peer.heard = now_;
      if (!text->empty()) take(rank, text->front(), text->substr(1));
      if (is_over_) return;
    }
    if (peer.has_said_farewell) return;
    if (peer.connection->is_closed())
      end({.rank = rank, .what = "disappeared (killed or crashed)"});
    else if (const double silence = now_ - peer.heard;
             silence > place_.silence_seconds && silence > longest_silence(place_, place_.members[size_t(rank)]))
      end({.rank = rank,
           .what = fmt::format("has been silent for {:.1f} s (stopped, or cut off)", silence),
           .is_stopped = true});
  }

  void take(int rank, char kind, const std::string& text) {
    Peer& peer = peers_[size_t(rank)];
    if (kind == frame::kBeat) peer.at = text;
    if (kind == frame::kFailed) failed(rank, text);
    if (kind == frame::kTold) told(rank, text);
    if (kind == frame::kHubSilent) leave(kEndedByOthers);  // this rank was silent, and the others have reported it
    if (kind == frame::kFarewell) {
      peer.has_said_farewell = true;
      peer.connection->send({&frame::kFarewell, 1});
    }
  }

  void failed(int rank, const std::string& error) {
    const bool is_vague = error.empty();
    suspect({.cause = {.rank = rank, .what = "failed: " + (is_vague ? "see its own message" : error)},
             .until = now_ + (is_vague ? kVaguePatience : kErrorPatience),
             .is_vague = is_vague});
  }
  void told(int rank, const std::string& signal) {
    suspect({.cause = {.rank = rank, .what = fmt::format("was ended by {}", signal)}, .until = now_ + kSignalPatience});
  }
  void suspect(const Suspect& s) {
    if (!suspect_ || (suspect_->is_vague && !s.is_vague)) suspect_ = s;
  }

  std::string beat_text() const { return frame::kBeat + mailbox_.said(); }

  void beat() {
    beaten_ = now_;
    const std::string text = beat_text();
    for (Peer& p : peers_) {
      if (!p.connection || p.connection->is_closed()) continue;
      p.connection->flush();
      if (p.connection->is_flushed()) p.connection->send(text);
    }
  }

  bool all_said_farewell() const {
    bool all = true;
    for (size_t r = 1; r < peers_.size(); ++r) all = all && peers_[r].has_said_farewell;
    return all;
  }

  void finish() {
    is_over_ = true;
    mailbox_.settle(true);
  }

  void end(const Cause& cause) {
    if (is_over_) return;
    const Member& culprit = place_.members[size_t(cause.rank)];
    const std::string last = cause.rank == 0 ? "" : last_at(peers_[size_t(cause.rank)].at);
    write_end(fmt::format("{} {}{}{}: all ranks end", name_of(culprit), cause.what, last, was_at(0, mailbox_.said())));
    if (cause.is_stopped) report_silence(cause.rank);
    tell_end(cause);
    if (cause.is_stopped) kill_if_near(culprit, place_.members[0]);
    if (mailbox_.wish() != WatchMailbox::Wish::failed) leave(signal_ ? 128 + signal_ : kEndedByOthers);
    finish();
  }

  // Waits a moment: closing a connection with unread data may lose the last sent data.
  void tell_end(const Cause& cause) {
    const std::string text = fmt::format("{}{}{}", frame::kEnd, cause.rank, cause.is_stopped ? "k" : "");
    for (Peer& p : peers_)
      if (p.connection) p.connection->send(text);
    for (int tries = 0; tries < 30; ++tries) {
      bool all = true;
      for (Peer& p : peers_) {
        if (!p.connection) continue;
        p.connection->flush();
        while (p.connection->next()) continue;
        all = all && p.connection->is_closed();
      }
      if (all) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  static constexpr double kErrorPatience = 0.1, kSignalPatience = 0.3, kVaguePatience = 0.5;

  const WatchPlace place_;
  WatchMailbox& mailbox_;
  Listener listener_;
  const std::string token_;
  std::vector<Peer> peers_;  // by rank; that of rank 0 stays empty
  std::list<Stranger> strangers_;
  double now_ = 0, beaten_ = 0;
  std::optional<Suspect> suspect_;
  int signal_ = 0;
  bool is_over_ = false;
};

}  // namespace

std::unique_ptr<Post> make_hub(const WatchPlace& place, WatchMailbox& mailbox, Listener listener,
                               const std::string& token) {
  return std::make_unique<Hub>(place, mailbox, std::move(listener), token);
}

}  // namespace megalith
