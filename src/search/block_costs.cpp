#include "search/block_costs.h"

#include <numeric>

#include "exec/sim/facts_clock.h"
#include "exec/sim/paper_backend.h"
#include "exec/sim/simulator.h"
#include "settings/schedules.h"

namespace megalith::search {

namespace {

// Cuts the model so that `block` is a stage by itself. Returns the number of blocks of each stage.
std::vector<i64> stages_around(int block, int blocks) {
  std::vector<i64> out;
  if (block > 1) out.push_back(1), out.push_back(block - 1);
  if (block == 1) out.push_back(1);
  out.push_back(1);
  const int after = blocks - block - 1;
  if (after > 1) out.push_back(after - 1);
  if (after > 0) out.push_back(1);
  return out;
}

int stage_of_block(int block) { return std::min(block, 2); }

struct Ran {
  double seconds = 0, transfers = 0;
};
Ran ran(const Plan& plan, const char* program, const sim::Clock& clock) {
  const Program* p = plan.find_program(program);
  if (!p) return {};
  const sim::Estimate e = sim::simulate(plan, *p, clock, false);
  const auto it = e.by_op.find("relayout");
  return {e.total.seconds, it == e.by_op.end() ? 0 : it->second.seconds * clock.together()};
}

void add_parameters(const PlannedStep& step, BlockCost& out) {
  for (const Parameter& p : step.parameters) {
    const bool expert = p.name.find("mlp.experts.") != p.name.npos;
    const double elements = double(local_type(step.plan.mesh, p.type).elements());
    (expert ? out.experts : out.dense) += elements;
    if (p.tied()) out.tied += elements;
  }
  const double elements = std::max(1.0, out.dense + out.experts);
  const auto each = [&](Role role) { return double(step.plan.bytes(role) + step.plan.bytes(role, true)) / elements; };
  out.weight_bytes = each(Role::parameter), out.gradient_bytes = each(Role::gradient);
  out.state_bytes = each(Role::main_parameter) + each(Role::optimizer);
}

}  // namespace

BlockCosts::BlockCosts(const Options& base, const DeviceFacts& facts) : base_(base), facts_(facts) {
  const i64 layers = base.model.num_layers;
  const std::vector<bool> mixtures = base.model.moe.pattern(layers);
  std::map<bool, int> first;
  kinds_.push_back(0);
  for (int i = 0; i < int(layers); ++i)
    kinds_.push_back(first.try_emplace(!mixtures.empty() && mixtures[size_t(i)], i + 1).first->second);
  kinds_.push_back(int(layers) + 1);
}

BlockCosts::~BlockCosts() = default;

const std::map<int, BlockCost>& BlockCosts::of(const Choice& c) {
  Choice key{.tp = c.tp, .cp = c.cp, .ep = c.ep, .etp = c.etp, .micro_batch = c.micro_batch};
  key.cp_comm = c.cp_comm, key.recompute = c.recompute, key.offload = c.offload, key.sharded = false;
  key.zero_bubble = c.zero_bubble;
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  const i64 ranks = c.tp * c.cp, experts = c.ep * c.etp, dp = experts / std::gcd(experts, ranks);
  Options base = base_;
  base.parallel.world_size = ranks * dp, base.train.global_batch_size = c.micro_batch * dp;
  base.parallel.pipeline_layout.clear(), base.parallel.num_virtual_stages_per_pipeline_rank = 0;
  base.parallel.num_layers_per_virtual_pipeline_stage = 0;
  base.train.rampup_batch_size.clear(), base.train.step_batch_size_schedule.clear();
  Options o = with(base, key);
  o.parallel.overlap_grad_reduce = o.parallel.overlap_param_gather = false;
  std::map<int, BlockCost> blocks;
  for (const int block : kinds_)
    if (!blocks.contains(block))
      blocks[block] = is_end(block) ? end_of_model(o, key, block) : plan(o, block, c.zero_bubble);
  return known_.emplace(key, std::move(blocks)).first->second;
}

// The embedding, and the head with the loss, have no layers and no experts, so they depend on fewer parts of the
// choice.
const BlockCost& BlockCosts::end_of_model(const Options& o, const Choice& key, int block) {
  const Choice less{.tp = key.tp, .cp = key.cp, .micro_batch = key.micro_batch};
  if (const auto it = ends_.find({less, block}); it != ends_.end()) return it->second;
  return ends_.emplace(std::pair{less, block}, plan(o, block, false)).first->second;
}

BlockCost BlockCosts::plan(const Options& o, int block, bool zero_bubble) {
  ++planned_;
  Options staged = o;
  StepSpec spec = step_spec(o);
  PipelineSpec& pipeline = spec.pipeline;
  pipeline = {.stage = stage_of_block(block), .blocks = stages_around(block, blocks())};
  const int stages = int(pipeline.blocks.size());
  pipeline.schedule = {.stages = stages, .micro_batches = stages, .split_weights = zero_bubble};
  staged.parallel.pipeline_model_parallel_size = stages, staged.parallel.world_size *= stages;
  spec.mesh = mesh_of(staged.parallel, staged.model), spec.evaluate = false;
  const std::unique_ptr<sim::PaperBackend> backend = sim::make_paper_backend(facts_);
  const PlannedStep step = plan_step(spec, *backend);
  const sim::FactsClock clock(facts_);
  BlockCost out;
  const Ran forward = ran(step.plan, "forward", clock), backward = ran(step.plan, "backward", clock),
            weights = ran(step.plan, "weights", clock), update = ran(step.plan, "update", clock);
  out.forward = forward.seconds, out.backward = backward.seconds, out.weights = weights.seconds;
  out.update = std::max(0.0, update.seconds - update.transfers);
  add_parameters(step, out);
  for (const Leaf& l : step.plan.leaves)
    if (l.role == Role::kept && !l.host) out.kept += double(l.bytes);
  out.working = double(step.plan.arena_bytes - step.plan.leaf_bytes);
  if (const Leaf* sent = step.plan.find_leaf("out")) out.sent = double(sent->bytes);
  return out;
}

}  // namespace megalith::search
