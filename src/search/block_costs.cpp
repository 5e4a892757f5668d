#include "search/block_costs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "base/in_parallel.h"
#include "exec/sim/paper_backend.h"
#include "exec/sim/simulator.h"
#include "graph/relayout_op.h"
#include "settings/schedules.h"

namespace megalith::search {

namespace {

// Cuts the model so that `count` blocks from `block` are a separate stage. Returns the number of blocks of each stage.
std::vector<i64> stages_around(int block, int blocks, int count) {
  std::vector<i64> out;
  if (block > 1) out.push_back(1), out.push_back(block - 1);
  if (block == 1) out.push_back(1);
  out.push_back(count);
  const int after = blocks - block - count;
  if (after > 1) out.push_back(after - 1);
  if (after > 0) out.push_back(1);
  return out;
}

int stage_of_block(int block) { return std::min(block, 2); }

// Seconds of transfers between tensor-parallel ranks that nothing overlaps.
double tensor_transfers(const Plan& plan, const char* program, const sim::Clock& clock) {
  double out = 0;
  if (const Program* p = plan.find_program(program))
    for (const Instruction& in : p->instructions)
      if (const auto* r = in.op.get_if<Relayout>(); r && r->lane == 0 && groups::tensor.has(r->axes))
        out += clock.seconds(plan, *p, in).transfer;
  return out;
}

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

BlockCosts::BlockCosts(const Options& base, const DeviceFacts& facts)
    : base_(base), facts_(std::make_shared<const DeviceFacts>(facts)), clock_(*facts_) {
  const i64 layers = base.model.num_layers;
  const std::vector<bool> mixtures = base.model.moe.pattern(layers);
  std::map<bool, int> first;
  kinds_.push_back(0);
  for (int i = 0; i < int(layers); ++i)
    kinds_.push_back(first.try_emplace(!mixtures.empty() && mixtures[size_t(i)], i + 1).first->second);
  kinds_.push_back(int(layers) + 1);
}

BlockCosts::~BlockCosts() = default;

BlockCosts::Key BlockCosts::key_of(const Choice& c, bool pair) {
  Choice key{.tp = c.tp, .cp = c.cp, .ep = c.ep, .etp = c.etp, .micro_batch = c.micro_batch};
  key.cp_comm = c.cp_comm, key.recompute = c.recompute, key.offload = c.offload, key.sharded = false;
  key.zero_bubble = c.zero_bubble, key.tp_overlap = pair && c.tp_overlap;
  return {key, pair};
}

const std::map<int, BlockCost>& BlockCosts::of(const Choice& c) { return of_key(key_of(c, false)); }

bool BlockCosts::has_next(int block) const { return block > 0 && block + 2 < blocks() && kind(block + 1) == block; }

bool BlockCosts::has_pairs() const {
  const auto layers = std::span(kinds_).subspan(1, kinds_.size() - 2);
  const auto is_known = [&](int kind) { return has_next(kind) || std::ranges::count(layers, kind) == 1; };
  return std::ranges::any_of(layers, [&](int kind) { return has_next(kind); }) && std::ranges::all_of(layers, is_known);
}

const std::map<int, BlockCost>* BlockCosts::of_pairs(const Choice& c) {
  return has_pairs() ? &of_key(key_of(c, true)) : nullptr;
}

// The embedding, and the head with the loss, have no layers and no experts. So they depend on fewer parts of the
// choice.
BlockCosts::Block BlockCosts::block_of(const Key& key, int block) const {
  const Choice& c = key.choice;
  if (!is_end(block)) return {{c, key.pair && has_next(block)}, block};
  Choice less{.tp = c.tp, .cp = c.cp, .etp = c.tp, .micro_batch = c.micro_batch};
  less.tp_overlap = c.tp_overlap, less.zero_bubble = c.zero_bubble, less.sharded = false;
  return {{less}, block};
}

const std::map<int, BlockCost>& BlockCosts::of_key(const Key& key) {
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  std::map<int, BlockCost> blocks;
  for (const int kind : kinds_) {
    const Block block = block_of(key, kind);
    auto it = costs_.find(block);
    if (it == costs_.end()) it = costs_.emplace(block, cost(block)).first;
    blocks[kind] = it->second;
  }
  return known_.emplace(key, std::move(blocks)).first->second;
}

void BlockCosts::prepare(const std::vector<Choice>& choices) { prepare(choices, false); }

void BlockCosts::prepare_pairs(const std::vector<Choice>& choices) {
  if (has_pairs()) prepare(choices, true);
}

void BlockCosts::prepare(const std::vector<Choice>& choices, bool pairs) {
  constexpr size_t kAtOnce = 4;
  std::set<Block> missing;
  for (const Choice& c : choices)
    for (const int kind : kinds_)
      if (const Block block = block_of(key_of(c, pairs), kind); !costs_.contains(block)) missing.insert(block);
  const std::vector<Block> all(missing.begin(), missing.end());
  for (size_t first = 0; first < all.size(); first += kAtOnce) {
    const size_t n = std::min(kAtOnce, all.size() - first);
    std::vector<std::optional<BlockCost>> found(n);
    in_parallel(int(n), [&](int i) {
      try {
        found[size_t(i)] = cost(all[first + size_t(i)]);
      } catch (const Error&) {
      }
    });
    for (size_t i = 0; i < n; ++i)
      if (found[i]) costs_.emplace(all[first + i], *found[i]);
  }
}

BlockCost BlockCosts::cost(const Block& block) const {
  const auto& [key, pair] = block.first;
  const int kind = block.second;
  const i64 ranks = key.tp * key.cp, experts = key.ep * key.etp, dp = experts / std::gcd(experts, ranks);
  Options base = base_;
  base.parallel.world_size = ranks * dp, base.train.global_batch_size = key.micro_batch * dp;
  base.parallel.pipeline_layout.clear(), base.parallel.num_virtual_stages_per_pipeline_rank = 0;
  base.parallel.num_layers_per_virtual_pipeline_stage = 0;
  base.train.rampup_batch_size.clear(), base.train.step_batch_size_schedule.clear();
  Options o = with(base, key);
  o.parallel.overlap_grad_reduce = o.parallel.overlap_param_gather = false;
  o.parallel.tp_comm_overlap = key.tp_overlap;
  return pair ? second_layer(o, kind, key.zero_bubble) : plan(o, kind, key.zero_bubble);
}

// The first layer shares no work with one before it.
BlockCost BlockCosts::second_layer(const Options& o, int block, bool zero_bubble) const {
  const BlockCost one = plan(o, block, zero_bubble);
  BlockCost out = plan(o, block, zero_bubble, 2);
  out.forward -= one.forward, out.backward -= one.backward, out.weights -= one.weights, out.update -= one.update;
  out.dense -= one.dense, out.experts -= one.experts, out.tied -= one.tied, out.kept -= one.kept;
  out.lead_forward = one.forward - out.forward, out.lead_backward = one.backward - out.backward;
  out.lead_weights = one.weights - out.weights;
  return out;
}

// The input, and what the forward keeps. A stage has the other messages once for each of its pieces.
static double kept_bytes(const Plan& plan) {
  double out = 0;
  for (const Leaf& l : plan.leaves)
    if (l.name == "in" || (l.role == Role::kept && l.name.starts_with("kept ") && !l.host)) out += double(l.bytes);
  return out;
}

BlockCost BlockCosts::plan(const Options& o, int block, bool zero_bubble, int count) const {
  Options staged = o;
  StepSpec spec = step_spec(o);
  PipelineSpec& pipeline = spec.pipeline;
  pipeline = {.stage = stage_of_block(block), .blocks = stages_around(block, blocks(), count)};
  const int stages = int(pipeline.blocks.size());
  pipeline.schedule = {.stages = stages, .micro_batches = stages, .split_weights = zero_bubble};
  staged.parallel.pipeline_model_parallel_size = stages, staged.parallel.world_size *= stages;
  spec.mesh = mesh_of(staged.parallel, staged.model), spec.evaluate = false;
  spec.passes_off.insert("verify");  // the run itself verifies its plan
  const std::unique_ptr<sim::PaperBackend> backend = sim::make_shared_paper_backend(facts_);
  const PlannedStep step = plan_step(spec, *backend);
  BlockCost out;
  const Ran forward = ran(step.plan, "forward", clock_), backward = ran(step.plan, "backward", clock_),
            weights = ran(step.plan, "weights", clock_), update = ran(step.plan, "update", clock_);
  out.forward = forward.seconds, out.backward = backward.seconds, out.weights = weights.seconds;
  out.update = std::max(0.0, update.seconds - update.transfers);
  out.hideable_forward = tensor_transfers(step.plan, "forward", clock_);
  out.hideable = tensor_transfers(step.plan, "backward", clock_);
  add_parameters(step, out);
  out.kept = kept_bytes(step.plan);
  out.working = double(step.plan.arena_bytes - step.plan.leaf_bytes);
  if (const Leaf* sent = step.plan.find_leaf("out")) out.sent = double(sent->bytes);
  return out;
}

}  // namespace megalith::search
