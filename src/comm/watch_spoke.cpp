// The side of the watch of all ranks but 0.
#include <charconv>

#include "comm/watch_posts.h"

namespace megalith {
namespace {

class Spoke final : public Post {
 public:
  Spoke(const WatchPlace& place, WatchMailbox& mailbox, Connection hub)
      : place_(place), mailbox_(mailbox), hub_(std::move(hub)) {}

  bool is_over() const override { return is_over_; }
  std::vector<int> fds() const override { return hub_.is_closed() ? std::vector<int>{} : std::vector<int>{hub_.fd()}; }

  void step(double now, int signal) override {
    now_ = now;
    tell(signal);
    if (now_ - beaten_ >= kBeatSeconds) say_where();
    while (const auto text = hub_.next()) {
      heard_ = now_;
      if (!text->empty()) take(text->front(), text->substr(1));
      if (is_over_) return;
    }
    judge();
  }

 private:
  void say_where() {
    beaten_ = now_;
    hub_.flush();
    if (hub_.is_flushed()) hub_.send(frame::kBeat + mailbox_.said());
  }

  void tell(int signal) {
    const WatchMailbox::Wish wish = mailbox_.wish();
    if (wish != told_wish_) {
      told_wish_ = wish;
      asked_ = now_;
      say_where();
      hub_.send(wish == WatchMailbox::Wish::failed ? frame::kFailed + mailbox_.error()
                                                   : std::string(1, frame::kFarewell));
    }
    if (signal != signal_) {
      signal_ = signal;
      signalled_ = now_;
      say_where();
      hub_.send(frame::kTold + signal_name(signal));
    }
  }

  void take(char kind, const std::string& text) {
    if (kind == frame::kBeat) hub_at_ = text;
    if (kind == frame::kFarewell) finish(true);
    if (kind == frame::kEnd) obey(text);
  }

  // The hub has reported the reason.
  void obey(const std::string& text) {
    size_t culprit = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), culprit);
    if (error == std::errc{} && culprit < place_.members.size() && end != text.data() + text.size())
      kill_if_near(place_.members[culprit], self());
    if (told_wish_ != WatchMailbox::Wish::failed) leave(code());
    finish(true);
  }

  void judge() {
    if (hub_.is_closed() && told_wish_ == WatchMailbox::Wish::farewell) return finish(true);
    // One that had missed beats when it went was stopped, and another rank has found out and killed it.
    const bool was_silent = now_ - heard_ > 3 * kBeatSeconds;
    if (hub_.is_closed() && !was_silent) say_hub("disappeared (killed or crashed)"), leave(code());
    const double silence = now_ - heard_;
    if (hub_.is_closed() || (silence > place_.silence_seconds && silence > longest_silence(place_, place_.members[0])))
      end_silent_hub();
    if (told_wish_ == WatchMailbox::Wish::failed && now_ - asked_ > kPatience) finish(false);
    if (signal_ != 0 && now_ - signalled_ > kPatience) {
      write_end(fmt::format("{} was ended by {}{}", name_of(self()), signal_name(signal_), last_at(mailbox_.said())));
      leave(code());
    }
  }

  [[noreturn]] void end_silent_hub() {
    say_hub(fmt::format("has been silent for {:.1f} s (stopped, or cut off)", now_ - heard_));
    report_silence(0);
    hub_.send({&frame::kHubSilent, 1});
    kill_if_near(place_.members[0], self());
    leave(code());
  }

  void say_hub(const std::string& what) const {
    write_end(fmt::format("{} {}{}{}: it ends", name_of(place_.members[0]), what, last_at(hub_at_),
                          was_at(place_.rank, mailbox_.said())));
  }

  void finish(bool ok) {
    is_over_ = true;
    mailbox_.settle(ok);
  }

  const Member& self() const { return place_.members[size_t(place_.rank)]; }
  int code() const { return signal_ ? 128 + signal_ : kEndedByOthers; }

  static constexpr double kPatience = 0.9;  // Open MPI's launcher sends SIGKILL a second after SIGTERM

  const WatchPlace place_;
  WatchMailbox& mailbox_;
  Connection hub_;
  std::string hub_at_;
  double now_ = 0, heard_ = 0, beaten_ = 0, asked_ = 0, signalled_ = 0;
  WatchMailbox::Wish told_wish_ = WatchMailbox::Wish::none;
  int signal_ = 0;
  bool is_over_ = false;
};

}  // namespace

std::unique_ptr<Post> make_spoke(const WatchPlace& place, WatchMailbox& mailbox, Connection hub) {
  return std::make_unique<Spoke>(place, mailbox, std::move(hub));
}

}  // namespace megalith
