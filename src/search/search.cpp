#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/in_parallel.h"
#include "search/estimate.h"
#include "settings/compatibility.h"

namespace megalith::search {

namespace {

constexpr const char* kMemory = "memory";
constexpr const char* kTooSlow = "more days or money than --max-days and --max-cost allow";

class Run {
 public:
  Run(Options base, const DeviceFacts& facts, BlockCosts& costs, InFlight& in_flight, StageTexts& texts,
      const Request& request)
      : base_(std::move(base)),
        facts_(facts),
        costs_(costs),
        in_flight_(in_flight),
        texts_(texts),
        request_(request),
        order_(request.objective) {
    base_.parallel.world_size = request.gpus;
    limit_ = double(facts.memory_bytes) * (1 - request.headroom);
  }

  Outcome all() {
    pick(choices(false, out_.reasons));
    if (out_.best.empty() && !out_.misses.empty() && !base_.offload.on) pick(choices(true, ignored_));
    std::ranges::sort(out_.misses, {}, &Miss::bytes);
    if (out_.misses.size() > kMisses) out_.misses.resize(kMisses);
    // Layouts that a bound excluded were not checked by the rules.
    for (const Miss& m : out_.misses) (void)(any_legal_ || legal(m.choice));
    if (out_.best.empty() && !any_legal_) out_.mistakes = {common_.begin(), common_.end()};
    return std::move(out_);
  }

 private:
  static constexpr size_t kMisses = 3, kAtOnce = 4;
  static constexpr double kSurely =
      0.85;  // fraction of the memory below which an estimate usually means that the layout fits

  struct Bounded {
    Choice choice;
    Bound bound;
  };
  struct Guess {
    Choice choice;
    Estimate estimate;
  };

  // Each layout once. A balanced layout with equal stages is the same as the equal one.
  std::vector<Choice> choices(bool offload, Reasons& reasons) const {
    Space s = space_of(base_, request_.gpus, std::min<i64>(8 * facts_.node_gpus, 64));
    s.offload = offload;
    std::vector<Choice> out = choices_of(s, base_, request_.gpus, reasons);
    const bool has_even = std::ranges::find(s.balanced, false) != s.balanced.end();
    std::erase_if(out, [&](const Choice& c) { return !request_.wanted.holds(c) || (has_even && texts_.is_even(c)); });
    return out;
  }

  void pick(const std::vector<Choice>& choices) {
    out_.layouts += i64(choices.size());
    if (choices.empty()) return;
    if (request_.brute) {
      for (const Choice& c : choices)
        if (legal(c)) plan(std::vector{c});
      return;
    }
    std::vector<Guess> guesses = guess(bounded(choices));
    std::ranges::stable_sort(guesses, {}, [&](const Guess& g) { return order_.of(g.estimate); });
    std::vector<Choice> next;
    for (size_t i = 0; i < guesses.size(); ++i) {
      const Estimate& e = guesses[i].estimate;
      const bool left = out_.best.size() >= request_.top && order_.least(e) > order_.of(out_.best[0].price);
      if (left) ++out_.slower;
      if (!left) next.push_back(guesses[i].choice);
      if (next.size() < kAtOnce && i + 1 < guesses.size()) continue;
      plan(next);
      next.clear();
    }
  }

  std::vector<Bounded> bounded(const std::vector<Choice>& choices) {
    const Bounds bounds(base_, facts_, request_.gpus);
    RoughCosts rough(base_, facts_, request_.gpus, costs_, in_flight_);
    std::vector<Bounded> out;
    for (const Choice& c : choices) {
      Bound b = bounds.of(c);
      if (b.bytes <= limit_ && can_be_scheduled(c)) b = rougher(rough, c, b);
      if (b.bytes > limit_)
        miss(c, b.bytes, false);
      else if (!too_slow(c, b.seconds, false))
        out.push_back({c, b});
    }
    std::ranges::stable_sort(out, {}, [&](const Bounded& b) { return order_.of(b.bound); });
    return out;
  }

  // The rules report a model that cannot be built.
  static Bound rougher(RoughCosts& rough, const Choice& c, const Bound& bound) {
    try {
      return rough.of(c, bound);
    } catch (const Error&) {
      return bound;
    }
  }

  // The condition of a schedule on the micro-batches. The rules check the rest.
  bool can_be_scheduled(const Choice& c) const {
    const i64 n = base_.train.global_batch_size * c.tp * c.pp * c.cp / (request_.gpus * c.micro_batch);
    return c.vpp == 1 || n % c.pp == 0;
  }

  std::vector<Guess> guess(const std::vector<Bounded>& bounded) {
    std::vector<Guess> out;
    std::multiset<double> surely;  // sort keys of layouts that surely fit
    for (size_t i = 0; i < bounded.size(); ++i) {
      if (surely.size() >= request_.top) {
        const double worst = *std::next(surely.begin(), i64(request_.top) - 1);
        if (order_.of(bounded[i].bound) > order_.most(worst)) {
          out_.slower += i64(bounded.size() - i);
          break;
        }
      }
      const Choice& c = bounded[i].choice;
      const std::optional<Estimate> e = estimated(c);
      if (!e) continue;
      if (e->bytes > limit_ * (1 + kMemoryError) + kMemorySlack) {
        miss(c, e->bytes, false);
        continue;
      }
      if (too_slow(c, e->seconds * (1 - e->error), false)) continue;
      if (e->bytes < limit_ * kSurely && e->seconds * (1 + e->error) < request_.most_seconds)
        surely.insert(order_.of(*e));
      out.push_back({c, *e});
    }
    return out;
  }

  std::optional<Estimate> estimated(const Choice& c) {
    if (!legal(c)) return {};
    try {
      ++out_.estimated;
      return estimate(with(base_, c, texts_.of(c)), c, costs_, in_flight_, facts_);
    } catch (const Error& e) {
      refuse("the planner refuses it", e.what());
      return {};
    }
  }

  // The rules do not depend on whether optimizer state is sharded, so layouts that differ only in it are checked
  // once.
  bool legal(const Choice& c) {
    Choice key = c;
    key.sharded = true;
    const auto [it, is_new] = legal_.try_emplace(key, true);
    if (is_new) it->second = keeps_rules(c);
    return it->second;
  }

  bool keeps_rules(const Choice& c) {
    std::vector<std::string> lines;
    std::string_view reason;
    try {
      const Options o = with(base_, c, texts_.of(c));
      for (const bool ground : {true, false})
        for (const Rule& rule : compatibility_rules()) {
          if (rule.ground != ground || rule.action == Rule::Action::warn || (!ground && !lines.empty() && any_legal_))
            continue;
          const std::string line = rule.broken(o);
          if (line.empty()) continue;
          if (lines.empty()) reason = rule.what;
          lines.push_back(line);
        }
    } catch (const Error& e) {
      lines.push_back(e.what()), reason = "the model and its stages can be built";
    }
    if (lines.empty()) return any_legal_ = true;
    refuse(std::string(reason), lines[0]);
    keep_common(lines);
    return false;
  }

  void keep_common(const std::vector<std::string>& lines) {
    if (any_legal_) return;
    std::set<std::string> here(lines.begin(), lines.end());
    if (!any_refused_) {
      common_ = std::move(here), any_refused_ = true;
      return;
    }
    std::erase_if(common_, [&](const std::string& line) { return !here.contains(line); });
  }

  void refuse(const std::string& reason, const std::string& example) {
    Refused& r = out_.reasons[reason];
    if (r.count++ == 0) r.example = example;
  }

  void miss(const Choice& c, double bytes, bool exact) {
    ++out_.reasons[kMemory].count;
    out_.misses.push_back({c, bytes, exact});
    if (out_.misses.size() < 4096) return;
    std::ranges::sort(out_.misses, {}, &Miss::bytes);
    out_.misses.resize(kMisses);
  }

  // In parallel. The result does not depend on the number of cores.
  void plan(const std::vector<Choice>& choices) {
    struct Result {
      std::optional<Price> price;
      std::string error;
    };
    std::vector<Result> results(choices.size());
    std::vector<std::string> layouts;
    for (const Choice& c : choices) layouts.push_back(texts_.of(c));
    if (choices.empty()) return;
    in_parallel(int(choices.size()), [&](int i) {
      try {
        results[size_t(i)].price = price_of(base_, choices[size_t(i)], layouts[size_t(i)], facts_);
      } catch (const Error& e) {
        results[size_t(i)].error = e.what();
      }
    });
    for (size_t i = 0; i < choices.size(); ++i) {
      ++out_.planned;
      if (results[i].price)
        keep(choices[i], *results[i].price);
      else
        refuse("the planner refuses it", results[i].error);
    }
  }

  void keep(const Choice& c, const Price& price) {
    const double bytes = double(price.fullest.need.total());
    if (bytes > limit_) return miss(c, bytes, true);
    if (too_slow(c, price.time.seconds, true)) return;
    const auto at =
        std::ranges::upper_bound(out_.best, order_.of(price), {}, [&](const Found& f) { return order_.of(f.price); });
    out_.best.insert(at, {c, price});
  }

  bool too_slow(const Choice& c, double seconds, bool exact) {
    if (seconds <= request_.most_seconds) return false;
    const bool nearest = !out_.too_slow || seconds < out_.too_slow->seconds;
    if (nearest && !legal(c)) return true;
    if (nearest) out_.too_slow = {c, seconds, exact};
    ++out_.reasons[kTooSlow].count;
    return true;
  }

  Options base_;
  const DeviceFacts& facts_;
  BlockCosts& costs_;
  InFlight& in_flight_;
  StageTexts& texts_;
  const Request& request_;
  const Order order_;
  double limit_ = 0;
  Outcome out_;
  Reasons ignored_;
  std::map<Choice, bool> legal_;
  bool any_legal_ = false, any_refused_ = false;
  std::set<std::string> common_;
};

}  // namespace

Searcher::Searcher(const Options& base, const DeviceFacts& facts)
    : base_(base), facts_(facts), costs_(base_, facts_), texts_(base_) {}

Outcome Searcher::run(const Request& request) {
  Outcome out = Run(base_, facts_, costs_, in_flight_, texts_, request).all();
  if (!request.brute && out.best.size() > request.top) out.best.resize(request.top);
  return out;
}

}  // namespace megalith::search
