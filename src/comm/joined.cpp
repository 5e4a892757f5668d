// A rank among others: waiting with deadlines over a transport.
#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "base/one_line.h"
#include "comm/gather.h"
#include "comm/join.h"
#include "comm/own_pieces.h"
#include "comm/patience.h"
#include "comm/watch.h"

namespace megalith {
namespace {

// Lets other threads use the transport between the looks at it.
class LockedMail final : public Mail {
 public:
  LockedMail(Mail& mail, std::mutex& mutex) : mail_(mail), mutex_(mutex) {}

  void send(int peer, std::string text) override {
    const std::lock_guard lock(mutex_);
    mail_.send(peer, std::move(text));
  }
  bool receive(int peer, std::string& text) override {
    const std::lock_guard lock(mutex_);
    return mail_.receive(peer, text);
  }
  bool sent() override {
    const std::lock_guard lock(mutex_);
    return mail_.sent();
  }

 private:
  Mail& mail_;
  std::mutex& mutex_;
};

class Joined final : public Ranks {
 public:
  Joined(const Place& place, const JoinOptions& options, std::unique_ptr<Transport> transport, bool is_watched)
      : place_(place), options_(options), transport_(std::move(transport)) {
    if (!is_watched) return;
    watch_.emplace(place, options.silence_seconds, [this](const std::string& mine) {
      return gather_texts(*transport_, place_, mine, options_.timeout_seconds, "joining the run");
    });
    if (!place.tells_local_size) place_.local_size = std::max(place.local_size, watch_->neighbours());
  }

  // While an error unwinds, the others are not waited for, and the library is not given back.
  ~Joined() override {
    if (has_failed_) return;
    if (std::uncaught_exceptions() > exceptions_) {
      if (watch_) watch_->failed("");
      return;
    }
    try {
      close();
    } catch (const std::exception& e) {
      const std::string error = fmt::format("could not end together with the others: {}", one_line(e));
      if (!watch_ || !watch_->failed(error)) log::warn("rank {} {}", place_.rank, error);
    }
  }

  const Place& place() const override { return place_; }

  std::vector<std::string> all_gather(const std::string& mine) override {
    LockedMail mail(*transport_, transport_mutex_);
    return gather_texts(mail, place_, mine, options_.timeout_seconds, at("all_gather of texts"));
  }

  std::vector<std::string> gather(const std::string& mine) override {
    LockedMail mail(*transport_, transport_mutex_);
    return gather_at_first(mail, place_, mine, options_.timeout_seconds, at("gather of texts"));
  }

  int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) override {
    const std::vector<Piece> to = pieces_of_others(place_, sends), from = pieces_of_others(place_, receives);
    copy_own_pieces(place_.rank, sends, receives);
    const std::lock_guard lock(transport_mutex_);
    return *under_way_.insert(transport_->exchange(tag, to, from)).first;
  }

  void wait(int ticket) override {
    Patience patience(options_.timeout_seconds);
    while (!is_done(ticket)) {
      if (patience.is_over()) fail_waiting(ticket);
      patience.pause(transport_->wake_fd());
    }
  }

  void doing(const std::string* what) override {
    if (watch_) watch_->doing(what);
  }

  bool failed(const std::string& error) override {
    has_failed_ = true;
    return watch_ && watch_->failed(error);
  }

  void drop_connections(int peer) override {
    const std::lock_guard lock(transport_mutex_);
    transport_->drop(peer);
  }

 private:
  bool is_done(int ticket) {
    const std::lock_guard lock(transport_mutex_);
    check(under_way_.contains(ticket), "exchange {} is not under way: wait() once for each exchange()", ticket);
    if (!transport_->done(ticket)) return false;
    under_way_.erase(ticket);
    return true;
  }

  [[noreturn]] void fail_waiting(int ticket) {
    const std::lock_guard lock(transport_mutex_);
    fail("{}: rank {} waited {} s for {}", at("exchange"), place_.rank, options_.timeout_seconds,
         list_ranks(transport_->missing(ticket)));
  }

  std::string at(const char* otherwise) { return watch_ ? watch_->said(otherwise) : otherwise; }

  void close() {
    while (!under_way_.empty()) wait(*under_way_.begin());
    barrier();
    transport_->close();
    if (watch_) watch_->farewell();
  }

  Place place_;
  const JoinOptions options_;
  const int exceptions_ = std::uncaught_exceptions();
  std::mutex transport_mutex_;
  std::unique_ptr<Transport> transport_;
  std::set<int> under_way_;
  bool has_failed_ = false;
  std::optional<Watch> watch_;  // goes first: it may end this process as long as it lives
};

}  // namespace

std::unique_ptr<Ranks> make_joined(const Place& place, const JoinOptions& options,
                                   std::unique_ptr<Transport> transport) {
  return std::make_unique<Joined>(place, options, std::move(transport), true);
}

std::unique_ptr<Ranks> join_unwatched(const Place& place, const JoinOptions& options) {
  if (place.size == 1) return make_alone(place);
  return std::make_unique<Joined>(place, options, make_star_transport(place, options.timeout_seconds, {}), false);
}

}  // namespace megalith
