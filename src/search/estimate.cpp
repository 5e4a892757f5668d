#include "search/estimate.h"

#include <algorithm>
#include <numeric>

#include "exec/sim/facts_clock.h"
#include "exec/sim/pipeline.h"
#include "settings/batch_sizes.h"

namespace megalith::search {

namespace {

// A rank of one stage, with all its model pieces.
struct Stage {
  double forward = 0, backward = 0, weights = 0;  // of a micro-batch
  double dense_update = 0, expert_update = 0;
  double dense = 0, experts = 0;
  double working = 0;
  std::vector<double> kept;  // of each piece
  BlockCost of_element{};    // bytes of one parameter
  double work() const { return forward + backward + weights; }
};

void add(Stage& stage, const BlockCost& block) {
  stage.forward += block.forward, stage.backward += block.backward, stage.weights += block.weights;
  const double all = std::max(1.0, block.dense + block.experts);
  stage.dense_update += block.update * block.dense / all, stage.expert_update += block.update * block.experts / all;
  stage.dense += block.dense, stage.experts += block.experts;
  stage.kept.back() += block.kept, stage.working = std::max(stage.working, block.working);
  stage.of_element = block;
}

// Whether these are the costs of a second layer after a first one.
bool is_second(const BlockCost& c) { return c.lead_forward != 0 || c.lead_backward != 0 || c.lead_weights != 0; }
void add_lead(BlockCost& c) { c.forward += c.lead_forward, c.backward += c.lead_backward, c.weights += c.lead_weights; }

class Composition {
 public:
  // `hides`: no transfer that may overlap takes time.
  Composition(const Options& o, const Choice& c, const BlockCosts& costs, const std::map<int, BlockCost>& known,
              bool hides, InFlight& in_flight, const DeviceFacts& facts)
      : o_(o), c_(c), facts_(facts), in_flight_(in_flight), clock_(costs.clock()), n_(double(micro_batches(o))) {
    std::vector<i64> blocks = {costs.blocks()};
    if (c.pp > 1) blocks = pipeline_of(o.parallel, o.model, 0, int(n_)).blocks;
    pieces_ = int(i64(blocks.size()) / c.pp);
    stages_.resize(size_t(c.pp)), tasks_.resize(size_t(c.pp));
    sent_ = known.at(0).sent;
    int block = 0;
    for (size_t v = 0; v < blocks.size(); ++v) {
      sim::TaskCost& task = tasks_[v % stages_.size()].emplace_back();
      // Besides the input: its gradient, the output and the output's gradient.
      const double messages = (v > 0 ? 1 : 0) + (v + 1 < blocks.size() ? 2 : 0);
      stages_[v % stages_.size()].kept.push_back(messages * sent_);
      bool leads = true;  // no layer of the piece has come yet
      for (i64 i = 0; i < blocks[v]; ++i) {
        BlockCost cost = known.at(costs.kind(block));
        if (hides) cost.forward -= cost.hideable_forward, cost.backward -= cost.hideable;
        if (leads && is_second(cost)) add_lead(cost), leads = false;
        task.forward += cost.forward, task.backward += cost.backward, task.weights += cost.weights;
        add(stages_[v % stages_.size()], cost), ++block;
      }
    }
    if (c.pp == 1) leave_out_tied(known.at(0));
    if (c.pp == 1)
      stages_[0].kept[0] -= known.at(costs.blocks() - 1).kept;  // its memory is part of the head's temporaries
  }

  double seconds() const {
    const Stage& slowest = *std::ranges::max_element(stages_, {}, &Stage::work);
    double end = 0, all = 0;
    for (const Stage& s : stages_) end = std::max(end, end_of(s)), all += s.work();
    if (c_.pp == 1) return n_ * slowest.work() + end;
    const double v = pieces_;
    double out = (n_ - 1) * slowest.work() + all / v + (1 - 1 / v) * slowest.work();
    if (c_.zero_bubble) {
      const ScheduleSpec spec{.stages = int(c_.pp), .chunks = pieces_, .micro_batches = int(n_), .split_weights = true};
      sim::TaskCost mean;
      const double tasks = v * double(c_.pp);
      for (const Stage& s : stages_)
        mean.forward += s.forward / tasks, mean.backward += s.backward / tasks, mean.weights += s.weights / tasks;
      out = n_ * (slowest.work() + all / double(c_.pp) * sim::bubble_formula(spec, mean));
    }
    const double send = clock_.send(sent_, 0, int(o_.parallel.world_size / c_.pp));
    return out + 2 * double(c_.pp - 1) * send + end;
  }

  // The closed formulas of a pipeline are inaccurate for few tasks.
  bool few_tasks() const { return double(c_.pp) * n_ * pieces_ <= 512; }

  // The same, from a simulation of the stages' tasks.
  double played() const {
    if (c_.pp == 1) return seconds();
    double end = 0;
    for (const Stage& s : stages_) end = std::max(end, end_of(s));
    const sim::PipelineSpec spec{.schedule = {.stages = int(c_.pp),
                                              .chunks = pieces_,
                                              .micro_batches = int(n_),
                                              .group = int(o_.parallel.microbatch_group_size_per_vp_stage),
                                              .split_weights = c_.zero_bubble},
                                 .costs = tasks_,
                                 .transfer = clock_.send(sent_, 0, int(o_.parallel.world_size / c_.pp))};
    return sim::run_pipeline(spec).seconds + end;
  }

  double bytes() const {
    double most = 0;  // later stages keep less
    for (const int s : {0, std::min(1, int(c_.pp) - 1), int(c_.pp) - 1}) most = std::max(most, bytes_of(s));
    return most + double(facts_.reserved_bytes) + link_bytes();
  }

 private:
  // A rank that holds both ends of the model holds a table that they share once.
  void leave_out_tied(const BlockCost& embedding) {
    stages_[0].dense -= embedding.tied;
    if (embedding.dense > 0) stages_[0].dense_update -= embedding.update * embedding.tied / embedding.dense;
  }

  double dense_ranks() const { return double(o_.parallel.data_parallel_size() * c_.cp); }
  double expert_ranks() const { return std::max(1.0, double(o_.parallel.world_size / c_.pp) / double(c_.ep * c_.etp)); }
  double shards(double ranks) const { return c_.sharded ? ranks : 1; }

  // Seconds of a collective of this many ranks, whose numbers are `apart` from one another.
  double transfer(double bytes, double ranks, i64 apart, double times) const {
    if (ranks < 2) return 0;
    std::vector<int> group;
    for (int i = 0; i < int(ranks); ++i) group.push_back(int(i * apart));
    return times * clock_.transfer(bytes * (ranks - 1) / ranks, bytes, group);
  }

  // The update, and the exposed part of gradient reduction and weight all-gather.
  double end_of(const Stage& s) const {
    const double reduce = o_.parallel.grad_reduce_in_bf16 ? 2 : s.of_element.gradient_bytes;
    const i64 expert_apart = c_.ep * c_.etp;
    const double sums = transfer(s.dense * reduce, dense_ranks(), c_.tp, c_.sharded ? 1 : 2) +
                        transfer(s.experts * reduce, expert_ranks(), expert_apart, c_.sharded ? 1 : 2);
    const double weights = !c_.sharded
                               ? 0
                               : transfer(s.dense * s.of_element.weight_bytes, dense_ranks(), c_.tp, 1) +
                                     transfer(s.experts * s.of_element.weight_bytes, expert_ranks(), expert_apart, 1);
    const double slower = facts_.overlap_slowdown - 1;
    const double hidden_sums = o_.parallel.overlap_grad_reduce ? std::min(sums, s.backward) : 0;
    const double hidden_weights = o_.parallel.overlap_param_gather ? std::min(weights, s.forward) : 0;
    return s.dense_update / shards(dense_ranks()) + s.expert_update / shards(expert_ranks()) + sums - hidden_sums +
           weights - hidden_weights + slower * (hidden_sums + hidden_weights);
  }

  // The fewest communicators of such a layout (exec/sim/paper_backend.cpp counts all). Those of one node may be in
  // symmetric memory.
  double link_bytes() const {
    if (o_.parallel.world_size <= facts_.node_gpus) return 0;
    constexpr double kInLine = 32, kOnLane = 24, kLinks = 4;
    double blocks = kInLine;
    if (c_.tp > facts_.node_gpus) blocks += kInLine;
    if (c_.cp > facts_.node_gpus) blocks += kInLine;
    const bool crosses = dense_ranks() > 1 && dense_ranks() * double(c_.tp) > double(facts_.node_gpus);
    if (crosses) blocks += kInLine + (o_.parallel.overlap_grad_reduce ? kOnLane : 0);
    if (crosses && o_.parallel.overlap_param_gather) blocks += kOnLane;
    if (c_.pp > 1) blocks += kLinks;
    return double(facts_.nccl_bytes) + blocks * double(facts_.nccl_bytes_each);
  }

  double bytes_of(int stage) const {
    const Stage& s = stages_[size_t(stage)];
    const BlockCost& e = s.of_element;
    const double each = e.weight_bytes + e.gradient_bytes;
    const std::vector<int>& slots = in_flight_.of(c_, stage, int(n_));
    const double kept = std::inner_product(s.kept.begin(), s.kept.end(), slots.begin(), 0.0);
    return s.dense * (each + e.state_bytes / shards(dense_ranks())) +
           s.experts * (each + e.state_bytes / shards(expert_ranks())) + kept + s.working;
  }

  const Options& o_;
  const Choice& c_;
  const DeviceFacts& facts_;
  InFlight& in_flight_;
  const sim::FactsClock& clock_;
  double n_;
  int pieces_ = 1;
  std::vector<Stage> stages_;
  std::vector<std::vector<sim::TaskCost>> tasks_;  // [stage][chunk]
  double sent_ = 0;
};

}  // namespace

const std::vector<int>& InFlight::of(const Choice& c, int stage, int micro_batches) {
  const auto [it, is_new] = known_.try_emplace({c.pp, c.vpp, c.zero_bubble, stage, micro_batches});
  if (!is_new) return it->second;
  if (c.pp == 1) return it->second = {1};
  const TaskList tasks = schedule(
      {.stages = int(c.pp), .chunks = int(c.vpp), .micro_batches = micro_batches, .split_weights = c.zero_bubble},
      stage);
  for (int chunk = 0; chunk < int(c.vpp); ++chunk) it->second.push_back(slots(tasks, chunk));
  return it->second;
}

namespace {

// The plan of a single layer does not show that the work of its neighbours overlaps transfers of experts. That of a
// pair shows it. Neither shows that a step casts weights to fp8 only once.
double error_of(const Options& o, bool few_tasks, bool by_pairs) {
  constexpr double kUsual = 0.01, kMixture = 0.15, kPairsOfMixtures = 0.02, kCodes = 0.08;
  const bool mixture = o.model.moe.num_experts > 0;
  if (mixture && !by_pairs) return kMixture;
  if (o.quantize.on()) return kCodes;
  return (few_tasks ? kError : kUsual) + (mixture ? kPairsOfMixtures : 0);
}

Estimate estimate_of(const Options& o, const Composition& whole, bool by_pairs) {
  const bool few = whole.few_tasks();
  return {few ? whole.played() : whole.seconds(), error_of(o, few, by_pairs), whole.bytes()};
}

}  // namespace

Estimate estimate(const Options& o, const Choice& c, BlockCosts& costs, InFlight& in_flight, const DeviceFacts& facts) {
  return estimate_of(o, Composition(o, c, costs, costs.of(c), c.tp_overlap, in_flight, facts), false);
}

bool layers_overlap(const Options& base, const Choice& c) { return c.tp_overlap || base.model.moe.num_experts > 0; }

std::optional<Estimate> estimate_by_pairs(const Options& o, const Choice& c, BlockCosts& costs, InFlight& in_flight,
                                          const DeviceFacts& facts) {
  const std::map<int, BlockCost>* known = costs.of_pairs(c);
  if (!known) return {};
  Estimate out = estimate_of(o, Composition(o, c, costs, *known, false, in_flight, facts), true);
  if (!c.tp_overlap) return out;
  const std::map<int, BlockCost>& in_line = costs.of(c);  // of the ends it is unknown how much overlaps with a layer
  const BlockCost &first = in_line.at(0), &last = in_line.at(costs.kind(costs.blocks() - 1));
  const double ends = first.hideable_forward + first.hideable + last.hideable_forward + last.hideable;
  out.error += double(micro_batches(o)) * ends / out.seconds;
  return out;
}

}  // namespace megalith::search
