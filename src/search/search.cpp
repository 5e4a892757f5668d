#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/in_parallel.h"
#include "search/estimate.h"
#include "search/legality.h"

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
    const std::vector<Choice> plain = choices(false, out_.reasons);
    for (const auto& [reason, refused] : out_.reasons) out_.layouts += refused.count;
    pick(plain);
    if (plain.empty()) keep_unfit();
    if (lacks_memory() && !base_.offload.on) pick(choices(true, ignored_));
    std::ranges::sort(out_.misses, {}, &Miss::bytes);
    if (out_.misses.size() > kMisses) out_.misses.resize(kMisses);
    // Layouts that a bound excluded were not checked by the rules.
    for (const Miss& m : out_.misses)
      if (!legality_.any() && !legal(m.choice)) --out_.reasons[kMemory].count;  // counted by its rule now
    if (out_.best.empty() && !legality_.any()) out_.mistakes = legality_.mistakes();
    return std::move(out_);
  }

 private:
  static constexpr size_t kMisses = 3, kAtOnce = 4, kLooked = 64;
  static constexpr double kSurely = 0.85;  // of the memory: an estimate below it usually means that the layout fits

  struct Bounded {
    Choice choice;
    Bound bound;
  };
  struct Guess {
    Choice choice;
    Estimate estimate;
    bool refined = false;
  };

  // Activations in host memory may help if nothing fits, or if the best layout recomputes.
  bool lacks_memory() const {
    if (out_.best.empty()) return !out_.misses.empty();
    return out_.best[0].choice.recompute != Recompute::none;
  }

  Space space(bool offload) const {
    Space s = space_of(base_, request_.gpus, std::min<i64>(8 * facts_.node_gpus, 64));
    s.offload = offload, s.site_gpus = request_.site_gpus;
    return s;
  }

  // No sizes divide: the rules name the flags. Sizes that do not divide the GPUs are layouts only if no others are.
  void keep_unfit() {
    Reasons counted;
    std::vector<Unfit> unfit;
    if (!choices_of(space(false), base_, request_.gpus, counted, &unfit).empty()) return;
    const auto divides = [&](const Unfit& u) { return request_.gpus % (u.choice.tp * u.choice.pp * u.choice.cp) == 0; };
    const bool any = std::ranges::any_of(unfit, divides);
    for (const Unfit& u : unfit)
      if (!any || divides(u)) legality_.keep_unfit(u);
  }

  // Each layout once. A balanced layout with equal stages is the same as the equal one.
  std::vector<Choice> choices(bool offload, Reasons& reasons) const {
    const Space s = space(offload);
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
    std::multimap<double, Guess> guesses;  // equal ones in their order
    for (const Guess& g : guess(bounded(choices))) guesses.emplace(order_.of(g.estimate), g);
    std::vector<Choice> next;
    while (!guesses.empty()) {
      const Guess g = guesses.extract(guesses.begin()).mapped();
      const bool left = out_.best.size() >= request_.top && order_.least(g.estimate) > order_.of(out_.best[0].price);
      if (left)
        ++out_.slower;
      else if (const std::optional<Guess> finer = refined(g))
        guesses.emplace(order_.of(finer->estimate), *finer);
      else
        next.push_back(g.choice);
      if (next.size() < kAtOnce && !guesses.empty()) continue;
      plan(next);
      next.clear();
    }
  }

  // By the overlap of two layers. It costs more than the first estimate, so only layouts that come next have it.
  std::optional<Guess> refined(const Guess& g) {
    if (g.refined || !g.choice.tp_overlap) return {};
    const std::optional<Estimate> e =
        estimate_overlap(with(base_, g.choice, texts_.of(g.choice)), g.choice, costs_, in_flight_, facts_);
    return e ? std::optional(Guess{g.choice, *e, true}) : std::nullopt;
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
    for (size_t first = 0; first < bounded.size(); first += kLooked) {
      if (surely.size() >= request_.top) {
        const double worst = *std::next(surely.begin(), i64(request_.top) - 1);
        if (order_.of(bounded[first].bound) > order_.most(worst)) {
          out_.slower += i64(bounded.size() - first);
          break;
        }
      }
      const std::span next = std::span(bounded).subspan(first, std::min(kLooked, bounded.size() - first));
      prepare(next);
      for (const Bounded& b : next) {
        const std::optional<Estimate> e = fitting(b.choice);
        if (!e) continue;
        if (e->bytes < limit_ * kSurely && e->most * (1 + e->error) < request_.most_seconds)
          surely.insert(order_.surely(*e));
        out.push_back({b.choice, *e});
      }
    }
    return out;
  }

  // The estimate of a layout that may fit and may be fast enough.
  std::optional<Estimate> fitting(const Choice& c) {
    const std::optional<Estimate> e = estimated(c);
    if (!e) return {};
    if (e->bytes > limit_ * (1 + kMemoryError) + kMemorySlack) return miss(c, e->bytes, false), std::nullopt;
    if (too_slow(c, e->seconds * (1 - e->error), false)) return {};
    return e;
  }

  // Plans their blocks in parallel.
  void prepare(std::span<const Bounded> next) {
    std::vector<Choice> choices;
    for (const Bounded& b : next)
      if (legal(b.choice)) choices.push_back(b.choice);
    costs_.prepare(choices);
  }

  std::optional<Estimate> estimated(const Choice& c) {
    if (!legal(c)) return {};
    try {
      ++out_.estimated;
      return estimate(with(base_, c, texts_.of(c)), c, costs_, in_flight_, facts_);
    } catch (const Error& e) {
      legality_.refuse("the planner refuses it", e.what());
      return {};
    }
  }

  bool legal(const Choice& c) { return legality_.allows(c); }

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
        legality_.refuse("the planner refuses it", results[i].error);
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
  Legality legality_{base_, texts_, out_.reasons};
};

}  // namespace

static const DeviceFacts& of_a_gpu(const DeviceFacts& facts) {
  check(facts.sms > 0 && facts.capability > 0,
        "facts of {} have no sms or no capability: a search needs a GPU's; --dry-run --device FILE predicts one layout "
        "of a CPU's file",
        facts.name);
  return facts;
}

Searcher::Searcher(const Options& base, const DeviceFacts& facts)
    : base_(base), facts_(of_a_gpu(facts)), costs_(base_, facts_), texts_(base_) {}

Outcome Searcher::run(const Request& request) {
  Outcome out = Run(base_, facts_, costs_, in_flight_, texts_, request).all();
  if (!request.brute && out.best.size() > request.top) out.best.resize(request.top);
  return out;
}

}  // namespace megalith::search
