#include "search/bounds.h"

#include <algorithm>

#include "exec/sim/coded_form.h"
#include "exec/sim/facts_clock.h"
#include "models/gpt/gpt.h"
#include "optim/optimizer.h"
#include "optim/update.h"
#include "settings/precision.h"
#include "step/model_size.h"

namespace megalith::search {

namespace {

// Flops a second. codes: products may read fp8.
double fastest_rate(const DeviceFacts& facts, bool codes) {
  double most = 0;
  for (const auto* list : {&facts.products, &facts.attention})
    for (const KernelFact& f : *list)
      if (codes || !sim::multiplies_codes(f.form))
        most = std::max(most, f.work / std::max(f.seconds - facts.launch_us * 1e-6, 0.1 * f.seconds));
  return std::max(most, sim::unmeasured_rate(facts, codes));
}

double expert_parameters(const ModelConfig& m) {
  const std::vector<bool> mixtures = m.moe.pattern(m.num_layers);
  const double layers = double(std::ranges::count(mixtures, true));
  const double width = double(m.moe.ffn_hidden_size ? m.moe.ffn_hidden_size : m.ffn_hidden_size);
  const double in = double(m.moe.latent_size ? m.moe.latent_size : m.hidden_size);
  return layers * double(m.moe.num_experts) * 2 * in * width;  // without a gate's matrix
}

}  // namespace

Bounds::Bounds(const Options& base, const DeviceFacts& facts, i64 gpus) : base_(base), gpus_(gpus) {
  Choice one;
  one.micro_batch = std::max<i64>(1, base.train.micro_batch_size);
  const Options o = with(base, one);
  const Gpt model(o.model);
  const ModelSize all = size_of(model);
  const double batch = double(base.train.global_batch_size);
  flops_ = all.flops() * batch;
  const double ends = size_of(model, {0, 1}).flops() + size_of(model, {model.blocks() - 1, model.blocks()}).flops();
  layer_flops_ = flops_ - ends * batch;
  experts_ = expert_parameters(o.model), dense_ = std::max(0.0, all.parameters() - experts_);
  const Precision r = precision_of(o);
  held_ = double(size_of(r.parameters) + size_of(r.gradients));
  state_ = r.parameters == r.main_parameters ? 0 : double(size_of(main_type(r.parameters, r.main_parameters, false)));
  for (const OptimizerState& s : o.optimizer.chosen().states(r)) state_ += double(size_of(s.dtype));
  if (o.optimizer.optimizer_cpu_offload) state_ = 0;
  fastest_ = fastest_rate(facts, o.quantize.on()) / std::min(1.0, facts.together);
  context_bytes_ = double(facts.reserved_bytes);
}

double Bounds::seconds_of(const Choice& c) const {
  constexpr double kAgain = 0.2;  // the forward is a third of a layer's flops, and recomputation omits its last product
  double flops = flops_ / double(gpus_);
  if (c.recompute == Recompute::full) flops += kAgain * layer_flops_ / double(gpus_);
  double idle = 0;
  if (c.pp > 1 && c.vpp == 1 && !c.zero_bubble && !base_.given.has("pipeline-model-parallel-layout")) {
    const double dp = double(gpus_ / (c.tp * c.pp * c.cp));
    const double n = double(base_.train.global_batch_size) / (double(c.micro_batch) * dp);
    idle = double(c.pp - 1) / std::max(1.0, n);
  }
  return flops / fastest_ * (1 + idle);
}

Bound Bounds::of(const Choice& c) const {
  const double dp = double(gpus_ / (c.tp * c.pp * c.cp)), stage = double(gpus_ / c.pp);
  const double dense_cut = c.sharded ? dp * double(c.cp) : 1;
  const double expert_ranks = double(c.ep * c.etp), expert_cut = c.sharded ? std::max(1.0, stage / expert_ranks) : 1;
  const double bytes =
      (dense_ / double(c.tp) * (held_ + state_ / dense_cut) + experts_ / expert_ranks * (held_ + state_ / expert_cut)) /
      double(c.pp);
  return {seconds_of(c), bytes + context_bytes_};
}

}  // namespace megalith::search
