#include "observe/expert_load.h"

#include <algorithm>
#include <numeric>

#include "models/blocks/router.h"
#include "models/moe_tallies.h"

namespace megalith {

namespace {

const std::vector<double>* numbers_of(const Seen& s, const std::string& tally) {
  const auto it = std::ranges::find(s.step.tallies, tally, &Tallied::name);
  return it == s.step.tallies.end() ? nullptr : &it->numbers;
}

double sum(std::span<const double> x) { return std::accumulate(x.begin(), x.end(), 0.0); }

// The maximum over the mean of the sums of `parts` equal ranges. 1 if all numbers are zero.
double largest_over_mean(std::span<const double> x, size_t parts) {
  const size_t each = x.size() / parts;
  double most = 0;
  for (size_t i = 0; i < parts; ++i) most = std::max(most, sum(x.subspan(i * each, each)));
  const double total = sum(x);
  return total > 0 ? most * double(parts) / total : 1;
}

std::optional<double> largest_of_layers(const Seen& s, i64 parts) {
  std::optional<double> out;
  for (const i64 layer : mixture_layers(s.options.model))
    if (const auto* tokens = numbers_of(s, tokens_tally(layer)))
      out = std::max(out.value_or(0), largest_over_mean(*tokens, size_t(parts)));
  return out;
}

}  // namespace

std::optional<double> expert_load(const Seen& s) { return largest_of_layers(s, s.options.model.moe.num_experts); }

std::optional<double> rank_load(const Seen& s) {
  const i64 ranks = s.options.parallel.expert_model_parallel_size;
  return ranks > 1 ? largest_of_layers(s, ranks) : std::nullopt;
}

std::optional<double> dropped_tokens(const Seen& s) {
  const ModelConfig& m = s.options.model;
  if (m.moe.expert_capacity_factor.value_or(-1) < 0) return {};
  double kept = 0, chosen = 0;
  for (const i64 layer : mixture_layers(m))
    if (const auto* tokens = numbers_of(s, tokens_tally(layer)))
      kept += sum(*tokens), chosen += double(s.step.samples * m.seq_length * m.moe.router_topk);
  return chosen > 0 ? std::optional(1 - kept / chosen) : std::nullopt;
}

std::vector<NamedValue> layer_loads(const Seen& s) {
  std::vector<NamedValue> out;
  if (!s.options.train.moe_per_layer_logging) return out;
  for (const i64 layer : mixture_layers(s.options.model))
    if (const auto* tokens = numbers_of(s, tokens_tally(layer)))
      out.push_back({fmt::format("expert_load_layer_{}", layer), largest_over_mean(*tokens, tokens->size())});
  return out;
}

std::vector<NamedValue> layer_losses(const Seen& s) {
  std::vector<NamedValue> out;
  const Options& o = s.options;
  const i64 at_once = o.train.micro_batch_size * o.parallel.data_parallel_size();
  const double micro_batches = double(s.step.samples) / double(std::max<i64>(1, at_once));
  for (const std::string& loss : router_terms(o.model.moe))
    for (const i64 layer : mixture_layers(o.model))
      if (const auto* value = numbers_of(s, loss_tally(loss, layer)))
        out.push_back({loss_tally(loss, layer), value->at(0) / micro_batches});
  return out;
}

}  // namespace megalith
