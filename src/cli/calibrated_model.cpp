#include "cli/calibrated_model.h"

#include <algorithm>

#include "search/choice.h"
#include "settings/compatibility.h"
#include "settings/schedules.h"

namespace megalith {

namespace {

constexpr i64 kLayers = 2;

// A dense layer and a mixture-of-experts layer, if the model has both.
void cut_layers(ModelConfig& m) {
  const std::vector<bool> mixtures = m.moe.pattern(m.num_layers);
  const auto has = [&](bool mixture) { return std::ranges::find(mixtures, mixture) != mixtures.end(); };
  m.moe.layer_freq = has(true) && has(false) ? "([0]*1+[1]*1)" : "1";
  m.num_layers = std::min(kLayers, m.num_layers);
}

// The layers in fp8 or fp4, not those at the ends. One rank gathers no codes.
void leave_codes(Options& o) {
  o.quantize.ends_in_bf16 = o.quantize.gather_codes = false;
  for (const char* flag :
       {"first-last-layers-bf16", "num-layers-at-start-in-bf16", "num-layers-at-end-in-bf16", "fp8-param-gather"})
    o.given.uses.erase(flag);
}

// One micro-batch on one rank.
Options alone(Options o) {
  cut_layers(o.model);
  leave_codes(o);
  o.train.micro_batch_size = o.train.global_batch_size = std::max<i64>(1, o.train.micro_batch_size);
  o.train.rampup_batch_size.clear(), o.train.step_batch_size_schedule.clear();
  o.train.eval_iters = 0, o.train.full_validation = false, o.train.dry_run = true;
  o.parallel = {};
  o.given.uses.erase("sequence-parallel"), o.given.uses.erase("tp-comm-overlap");
  o.given.uses.erase("overlap-grad-reduce"), o.given.uses.erase("overlap-param-gather");
  return search::with(o, {.micro_batch = o.train.micro_batch_size});
}

// The part of each layer that one of `ranks` tensor-parallel ranks has.
bool divides(const ModelConfig& m, i64 ranks) {
  return ranks > 1 && m.moe.num_experts == 0 && !m.mla.on() && m.num_attention_heads % ranks == 0 &&
         m.num_query_groups % ranks == 0 && m.ffn_hidden_size % ranks == 0 && m.padded_vocab_size % ranks == 0;
}
void divide(ModelConfig& m, i64 ranks) {
  m.num_attention_heads /= ranks, m.num_query_groups /= ranks, m.ffn_hidden_size /= ranks;
  m.padded_vocab_size /= ranks, m.vocab_size = m.padded_vocab_size;
}

TimedCase step_of(const Options& o, const std::string& what) {
  const ModelConfig& m = o.model;
  return {fmt::format("{} layers of {} of the model{}, {} x {}", m.num_layers, m.hidden_size, what,
                      o.train.micro_batch_size, m.seq_length),
          step_spec(o), m.seq_length, o.train.micro_batch_size, m.vocab_size};
}

}  // namespace

std::vector<TimedCase> steps_of_model(const Options& flags, i64 ranks) {
  Options whole = alone(flags);
  check_compatibility(whole);
  std::vector<TimedCase> out{step_of(whole, "")};
  if (!divides(whole.model, ranks)) return out;
  divide(whole.model, ranks);
  out.push_back(step_of(whole, fmt::format(", a {}th of each", ranks)));
  return out;
}

}  // namespace megalith
