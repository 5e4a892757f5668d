#include "launch/controller.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

namespace megalith::launch {

void Controller::take(int node, const Report& r, double now) {
  if (verdict_) return;
  if (r.kind == Report::Kind::hello) {
    nodes_[size_t(node)] = {.is_here = true, .host = r.host, .ranks = r.ranks, .runs = r.runs};
    generation_ =
        std::max(generation_, r.generation);  // the agent may know a later generation than a restarted controller
    return;
  }
  if (r.kind == Report::Kind::told) return told_to_end(r.signal);
  if (is_new_ && generation_ > 0) early_.push_back({node, r});
  if (r.generation != generation_ || state_ == State::gathering) return;
  if (r.kind == Report::Kind::progress)
    progressed(r, now);
  else if (r.kind == Report::Kind::silent)
    silent(r.silent_rank, now);
  else
    exited(r.exit, now);
}

void Controller::lost(int node, double now) {
  Node& n = nodes_[size_t(node)];
  if (verdict_ || !n.is_here) return;
  n.is_here = false;
  has_told_missing_ = true;
  const bool will_do = rules_.is_elastic() && node > 0;
  if (rules_.spares > 0 && all_here())
    lines_.push_back(fmt::format("node {} ({}) is lost: {}", node, n.host,
                                 n.started > 0 ? "a spare node takes over" : "it was a spare node"));
  else
    lines_.push_back(fmt::format("node {} ({}) is lost: waiting {} s for it", node, n.host,
                                 will_do ? rules_.wait_seconds : rules_.rejoin_seconds));
  if (state_ == State::gathering || n.started == 0) return;
  for (int r = n.first_rank; r < n.first_rank + n.started; ++r)
    if (std::ranges::none_of(exits_, [&](const Exit& e) { return e.rank == r; }))
      exits_.push_back({.rank = r, .is_brought_down = true, .host = n.host});
  stop(now, rules_.grace_seconds);
}

void Controller::tick(double now) {
  if (verdict_ || (is_new_ && adopt(now))) return;
  if (state_ != State::gathering && all_exited()) decide(now);
  if (state_ == State::running) look_for_hang(now);
  if (state_ == State::running) look_for_growth();
  if (verdict_ || state_ != State::gathering) return;
  if (told_ != 0) return end_told();
  if (!waits_since_) waits_since_ = now;
  const bool may_start = all_here() || (rules_.is_elastic() && now - *waits_since_ >= rules_.wait_seconds);
  if (const World world = may_start ? world_now() : World(); world.ranks > 0) return start(world, now);
  const double patience = generation_ == 0 ? rules_.join_seconds : rules_.rejoin_seconds;
  if (may_start) tell_need(patience);
  tell_missing(now, patience);
  if (now - *waits_since_ < patience) return;
  if (all_here()) return end(1, fmt::format("the remaining ranks are too few for the work: {}", live_ranks()));
  end(1,
      fmt::format("node {} did not come within {} s: start `megalith launch` with the same --rdzv-endpoint, --run-id "
                  "and --nnodes {} there",
                  missing(), patience, rules_.nodes));
}

std::string Controller::missing() const {
  std::string out;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (!nodes_[i].is_here) out += fmt::format("{}{}", out.empty() ? "" : ", ", i);
  return out;
}

// A lost node has a line of its own.
void Controller::tell_missing(double now, double patience) {
  if (has_told_missing_ || all_here() || now - *waits_since_ < rules_.quiet_seconds) return;
  has_told_missing_ = true;
  const bool will_do = rules_.is_elastic() && world_now().ranks > 0;
  lines_.push_back(fmt::format("node {} is not here yet: waiting {} s for it{}", missing(),
                               will_do ? rules_.wait_seconds : patience, will_do ? ", then fewer nodes start" : ""));
}

void Controller::progressed(const Report& report, double now) {
  const i64 iteration = report.iteration;
  hang_limit_.progressed(iteration > last_, report.phase, now);
  last_ = std::max(last_, iteration);
  if (iteration < 0) return;
  has_stepped_ = true;
  furthest_ = std::max(furthest_, iteration);
  if (fault_ && says_first_step_)
    lines_.push_back(fmt::format("generation {} completed iteration {}, {:.2f} s after the failure", generation_,
                                 iteration, now - *fault_));
  if (state_ == State::running) fault_.reset();
  says_first_step_ = false;
}

void Controller::silent(int rank, double now) {
  if (state_ != State::running) return;
  silent_rank_ = rank;
  stop(now, 0, true);
}

void Controller::exited(Exit e, double now) {
  if (std::ranges::any_of(exits_, [&](const Exit& x) { return x.rank == e.rank; })) return;
  if (e.rank == silent_rank_ && e.is_brought_down) e.is_brought_down = false, e.is_silent = true;
  exits_.push_back(e);
  const Meaning m = meaning_of(e);
  // Ranks that were asked to stop may still be saving, so they are not killed.
  const bool leaves = m == Meaning::done || m == Meaning::requeue || (told_ != 0 && m == Meaning::killed);
  if (!leaves) stop(now, e.signal != 0 ? rules_.kill_grace_seconds : rules_.grace_seconds);
}

// A given time counts after the first step only: the time of a start is unknown.
void Controller::look_for_hang(double now) {
  std::optional<double> limit;
  if (rules_.learns_hang)
    limit = hang_limit_.seconds();
  else if (rules_.hang_seconds > 0 && has_stepped_)
    limit = rules_.hang_seconds;
  if (!limit || now - hang_limit_.since() <= *limit) return;
  hangs_ = true, hung_for_ = *limit;
  hang_limit_.exceeded();
  stop(now, 0, true);
}

void Controller::stop(double now, double grace_seconds, bool is_hang) {
  if (state_ != State::running) return;
  state_ = State::stopping;
  fault_ = now;
  order_all({.kind = Order::Kind::stop, .generation = generation_, .grace = grace_seconds, .is_hang = is_hang});
}

bool Controller::all_exited() const { return int(exits_.size()) >= world_; }

void Controller::decide(double now) {
  state_ = State::gathering;
  const Exit* cause = cause_among(exits_);
  const Meaning m = cause ? meaning_of(*cause) : Meaning::brought_down;
  const auto has = [&](Meaning what) {
    return std::ranges::any_of(exits_, [&](const Exit& e) { return meaning_of(e) == what; });
  };
  const auto why = [&] {
    const std::string words = last_words(*cause, exits_);
    return words.empty() ? told_of(*cause) : told_of(*cause) + ": " + words;
  };
  if (grows_ && (!cause || (m == Meaning::killed && cause->code == 128 + SIGTERM))) return;
  if (m == Meaning::requeue) return end(kRequeue, "");
  if (!cause && !has(Meaning::brought_down)) return end(0, "");
  if (told_ != 0 && (!cause || m == Meaning::killed)) return end_told();
  const bool is_left_out = told_ == 0 && cause && leaves_out(*cause, m);
  if (cause && !is_left_out && (m == Meaning::configuration || told_ != 0)) return end(1, why());
  if (m == Meaning::persistent_doubt && !is_left_out)
    return end(kPersistentDoubt, why() + ": take this device out, then start again");
  if (furthest_ >= begin_ + rules_.min_progress && furthest_ >= 0)
    without_progress_ = 0;
  else
    ++without_progress_;
  constexpr int kCrashes = 3;
  if (without_progress_ >= kCrashes)
    return end(kCrashLoop,
               fmt::format("{} starts without a new iteration; {}", kCrashes, cause ? why() : told_without_cause()));
  restart(cause, now);
}

std::string Controller::told_without_cause() const {
  if (hangs_) return fmt::format("no rank made progress for {:.3g} s (--hang-seconds)", hung_for_);
  return "all ranks were stopped, and no rank is the cause";
}

void Controller::restart(const Exit* cause, double now) {
  while (!restarts_.empty() && now - restarts_.front() > rules_.window_seconds) restarts_.pop_front();
  const std::string what = cause ? told_of(*cause) : told_without_cause();
  if (i64(restarts_.size()) >= rules_.max_restarts) {
    const std::string words = cause ? last_words(*cause, exits_) : "";
    return end(1, fmt::format("--max-restarts allows {} restarts within {} minutes; {}{}{}", restarts_.size(),
                              rules_.window_seconds / 60, what, words.empty() ? "" : ": ", words));
  }
  restarts_.push_back(now);
  says_first_step_ = true;
  lines_.push_back(fmt::format("{}: restart {} of {}", what, restarts_.size(), rules_.max_restarts));
}

void Controller::end_told() { end(128 + told_, fmt::format("stopped by {}", name_of_signal(told_))); }

void Controller::end(int code, std::string why) {
  verdict_ = {code, std::move(why)};
  order_all({.kind = Order::Kind::finish, .generation = generation_, .code = code});
  for (auto& [node, order] : orders_)
    if (node == 0) order.why = verdict_->why;
}

void Controller::order_all(Order order) {
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].is_here) orders_.push_back({int(i), order});
}

}  // namespace megalith::launch
