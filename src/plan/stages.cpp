#include "plan/stages.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace megalith {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Least cost of cutting the layers from `i` on into the last parts, for costs of parts that add up or of which the
// largest counts. Walks from the last part to the first, so that the choices read forwards.
class Balancer {
 public:
  Balancer(const std::vector<double>& costs, double first, double last, i64 parts)
      : first_(first), last_(last), parts_(parts), layers_(i64(costs.size())), sums_(costs.size() + 1) {
    for (i64 i = 0; i < layers_; ++i) sums_[i + 1] = sums_[i] + costs[i];
  }

  std::vector<i64> run() {
    const double limit = solve([](double part, double rest) { return std::max(part, rest); }) * (1 + 1e-12);
    solve([&](double part, double rest) { return part <= limit ? part * part + rest : kNever; });
    std::vector<i64> counts;
    for (i64 k = 0, i = 0; k < parts_; i += counts.back(), ++k) counts.push_back(choice_[k][i]);
    return counts;
  }

 private:
  double cost(i64 part, i64 from, i64 to) const {
    return sums_[to] - sums_[from] + (part == 0 ? first_ : 0) + (part == parts_ - 1 ? last_ : 0);
  }
  i64 least(i64 part) const {  // layers
    return (part == 0 && first_ > 0) || (part == parts_ - 1 && last_ > 0) ? 0 : 1;
  }

  template <class Combine>
  double solve(Combine combine) {
    std::vector<double> rest(layers_ + 1, kNever);
    rest[layers_] = 0;
    choice_.assign(parts_, std::vector<i64>(layers_ + 1));
    for (i64 k = parts_ - 1; k >= 0; --k) {
      std::vector<double> best(layers_ + 1, kNever);
      for (i64 i = 0; i <= layers_; ++i)
        for (i64 to = i + least(k); to <= layers_; ++to) {
          if (rest[to] == kNever) continue;
          const double c = combine(cost(k, i, to), rest[to]);
          if (c < best[i] - 1e-12 * std::abs(c)) best[i] = c, choice_[k][i] = to - i;
        }
      rest = std::move(best);
    }
    return rest[0];
  }

  double first_, last_;
  i64 parts_, layers_;
  std::vector<double> sums_;
  std::vector<std::vector<i64>> choice_;  // [part][first layer]: how many layers
};

void check_cost(const char* what, double cost) {
  check(std::isfinite(cost) && cost >= 0, "the cost of {} is {}: give a number of at least 0", what, cost);
}

// Layers of each rank.
std::vector<i64> rank_layers(const LayerSplit& s) {
  check(s.stages >= 1 && s.chunks >= 1, "layers for {} pipeline stages of {} virtual ones: give at least 1 of each",
        s.stages, s.chunks);
  check(s.layers >= 1, "{} layers to share out over {} pipeline stages: give at least 1", s.layers, s.stages);
  const bool given = s.first || s.last;
  check(!given || !(s.embedding_counts || s.loss_counts),
        "--decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers do not go with "
        "--account-for-embedding-in-pipeline-split and --account-for-loss-in-pipeline-split: take one way to say the "
        "split");
  if (!given) {
    const i64 counted = s.layers + s.embedding_counts + s.loss_counts;
    check(counted % s.stages == 0,
          "{} layers{} do not divide by {} pipeline stages: take a multiple, --decoder-first-pipeline-num-layers, "
          "--decoder-last-pipeline-num-layers, or the automatic split",
          counted, counted > s.layers ? " (embedding and loss counted)" : "", s.stages);
    return std::vector<i64>(s.stages, counted / s.stages);
  }
  check(s.stages > 1 && s.first.value_or(1) >= 1 && s.last.value_or(1) >= 1,
        "--decoder-first-pipeline-num-layers {} and --decoder-last-pipeline-num-layers {} with {} pipeline stages: "
        "give at least 1 layer and 2 stages",
        s.first.value_or(0), s.last.value_or(0), s.stages);
  const i64 middle = s.stages - s.first.has_value() - s.last.has_value();
  const i64 rest = s.layers - s.first.value_or(0) - s.last.value_or(0);
  check(middle > 0 ? rest >= middle && rest % middle == 0 : rest == 0,
        "{} of {} layers are left for the {} pipeline stages between those with a given number: leave a multiple, at "
        "least 1 each",
        rest, s.layers, middle);
  std::vector<i64> ranks(s.stages, middle > 0 ? rest / middle : 0);
  if (s.first) ranks.front() = *s.first;
  if (s.last) ranks.back() = *s.last;
  return ranks;
}

}  // namespace

std::vector<i64> balance(const std::vector<double>& layer_costs, double first_extra, double last_extra, i64 parts) {
  check(parts >= 1, "layers for {} pipeline stages: give at least 1", parts);
  for (double c : layer_costs) check_cost("a layer", c);
  check_cost("the embedding", first_extra);
  check_cost("head and loss", last_extra);
  const i64 alone = parts > 1 ? (first_extra > 0) + (last_extra > 0) : 0;
  const i64 layers = i64(layer_costs.size());
  check(layers >= std::max<i64>(1, parts - alone), "{} layers for {} pipeline stages: take at most {} stages", layers,
        parts, layers + alone);
  return Balancer(layer_costs, first_extra, last_extra, parts).run();
}

std::vector<i64> split_layers(const LayerSplit& s) {
  const std::vector<i64> ranks = rank_layers(s);
  std::vector<i64> counts;
  for (int c = 0; c < s.chunks; ++c)
    for (int r = 0; r < s.stages; ++r) {
      check(ranks[r] % s.chunks == 0,
            "the {} layers of pipeline stage {} do not divide by {} virtual stages: take a divisor of {}", ranks[r], r,
            s.chunks, ranks[r]);
      counts.push_back(ranks[r] / s.chunks);
    }
  counts.front() -= s.embedding_counts;
  counts.back() -= s.loss_counts;
  check(counts.front() >= 0 && counts.back() >= 0,
        "embedding and loss fill more than a virtual stage of {} layers: take fewer stages", ranks[0] / s.chunks);
  return counts;
}

int chunks_of(const LayerSplit& split, i64 layers_a_chunk) {
  check(layers_a_chunk >= 1, "{} layers a virtual pipeline stage: give at least 1", layers_a_chunk);
  check(!split.first && !split.last,
        "--num-layers-per-virtual-pipeline-stage {} does not go with a number of layers for the first or last stage: "
        "take --num-virtual-stages-per-pipeline-rank",
        layers_a_chunk);
  const i64 layers = rank_layers(split)[0];
  check(layers % layers_a_chunk == 0,
        "the {} layers of a pipeline stage do not divide by {} a virtual stage: take a divisor of {}", layers,
        layers_a_chunk, layers);
  return int(layers / layers_a_chunk);
}

}  // namespace megalith
