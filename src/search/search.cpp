#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/in_parallel.h"
#include "search/estimate.h"
#include "search/legality.h"
#include "search/misses.h"

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
    if (lacks_memory() && can_offload()) {
      if (!out_.best.empty()) most_ = kOffloaded * order_.of(out_.best[0].price);
      pick(choices(true, ignored_));
    }
    out_.misses = misses_.nearest();
    if (misses_.count()) out_.reasons[kMemory].count += misses_.count();
    // Layouts that a bound excluded were not checked by the rules.
    for (const Miss& m : out_.misses)
      if (!legality_.any() && !legal(m.choice)) --out_.reasons[kMemory].count;  // counted by its rule now
    if (out_.best.empty() && !legality_.any()) out_.mistakes = legality_.mistakes();
    return std::move(out_);
  }

 private:
  static constexpr size_t kAtOnce = 4, kLooked = 64, kRefined = 4;
  // Offloading must be faster by 3%: the host's memory and bus are shared, and only one GPU's offloading was measured.
  static constexpr double kOffloaded = 0.97, kNoLimit = std::numeric_limits<double>::infinity();

  struct Guess {
    Choice choice;
    std::optional<Estimate> estimate{};  // none: only a bound is known
    bool refined = false;
  };
  using Queue = std::multimap<double, Guess>;  // by the sort key of a bound, later of an estimate

  // Activations in host memory may help if memory refuses a layout that may be better than the best one. They may also
  // help if the best one recomputes.
  bool lacks_memory() const {
    if (out_.best.empty()) return misses_.count() > 0;
    const Found& best = out_.best[0];
    return best.choice.recompute != Recompute::none || misses_.least() < kOffloaded * order_.of(best.price);
  }

  bool can_offload() const { return !base_.offload.on && !base_.quantize.on(); }  // the rules refuse both together

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
    Queue queue = bounded(choices);
    std::vector<Choice> next;
    while (!queue.empty()) {
      if (!queue.begin()->second.estimate) {
        estimate_first(queue);
      } else {
        const Guess g = queue.extract(queue.begin()).mapped();
        if (order_.least(*g.estimate) > most(0))
          ++out_.slower;
        else if (!g.refined && layers_overlap(base_, g.choice))
          refine(g, queue);
        else
          next.push_back(g.choice);
      }
      if (next.size() < kAtOnce && !queue.empty()) continue;
      plan(next);
      next.clear();
    }
  }

  // The largest sort key of a layout that may come before this row of a full table.
  double most(size_t row) const {
    return out_.best.size() >= request_.top ? std::min(order_.of(out_.best[row].price), most_) : most_;
  }

  // Estimates the layouts at the front of the queue, of which only bounds are known.
  void estimate_first(Queue& queue) {
    const double worst = most(request_.top - 1);
    std::vector<Choice> looked;
    while (looked.size() < kLooked && !queue.empty() && !queue.begin()->second.estimate) {
      const auto first = queue.extract(queue.begin());
      if (first.key() > worst)
        ++out_.slower;
      else
        looked.push_back(first.mapped().choice);
    }
    prepare(looked);
    for (const Choice& c : looked)
      if (const std::optional<Estimate> e = fitting(c)) queue.emplace(order_.of(*e), Guess{c, e});
  }

  // By pairs of layers. It costs more than the first estimate, so only layouts that come next have it.
  void refine(const Guess& first, Queue& queue) {
    std::vector<Guess> guesses = {first};
    for (auto it = queue.begin(); it != queue.end() && guesses.size() < kRefined;) {
      const Guess& g = it->second;
      if (!g.estimate || g.refined || !layers_overlap(base_, g.choice)) break;
      guesses.push_back(g), it = queue.erase(it);
    }
    std::vector<Choice> next;
    for (const Guess& g : guesses) next.push_back(g.choice);
    costs_.prepare_pairs(next);
    for (Guess& g : guesses) {
      const Options o = with(base_, g.choice, texts_.of(g.choice));
      g.refined = true, g.estimate = estimate_by_pairs(o, g.choice, costs_, in_flight_, facts_).value_or(*g.estimate);
      queue.emplace(order_.of(*g.estimate), g);
    }
  }

  Queue bounded(const std::vector<Choice>& choices) {
    const Bounds bounds(base_, facts_, request_.gpus);
    RoughCosts rough(base_, facts_, request_.gpus, costs_, in_flight_);
    Queue out;
    for (const Choice& c : choices) {
      Bound b = bounds.of(c);
      if (b.bytes <= limit_ && can_be_scheduled(c)) b = rough.of(c, b);
      if (b.bytes > limit_)
        misses_.add({c, b.bytes, false}, order_.of(b));
      else if (!too_slow(c, b.seconds, false))
        out.emplace(order_.of(b), Guess{c});
    }
    return out;
  }

  // The condition of a schedule on the micro-batches. The rules check the rest.
  bool can_be_scheduled(const Choice& c) const {
    const i64 n = base_.train.global_batch_size * c.tp * c.pp * c.cp / (request_.gpus * c.micro_batch);
    return c.vpp == 1 || n % c.pp == 0;
  }

  // The estimate of a layout that may fit and may be fast enough.
  std::optional<Estimate> fitting(const Choice& c) {
    const std::optional<Estimate> e = estimated(c);
    if (!e) return {};
    if (e->bytes > limit_ * (1 + kMemoryError) + kMemorySlack)
      return misses_.add({c, e->bytes, false}, order_.least(*e)), std::nullopt;
    if (too_slow(c, e->seconds * (1 - e->error), false)) return {};
    return e;
  }

  // Plans their blocks in parallel.
  void prepare(std::vector<Choice> next) {
    std::erase_if(next, [&](const Choice& c) { return !legal(c); });
    costs_.prepare(next);
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
    if (bytes > limit_) return misses_.add({c, bytes, true}, order_.of(price));
    if (too_slow(c, price.time.seconds, true)) return;
    if (order_.of(price) > most_) return void(++out_.slower);
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
  double most_ = kNoLimit;  // the largest sort key of a layout that is kept
  Outcome out_;
  Misses misses_;
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
