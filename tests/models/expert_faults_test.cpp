// Mixtures of experts made wrong on purpose, found by replicas that differ or by the numbers.
#include <numeric>

#include "ops/expert_counts.h"
#include "ops/expert_rows.h"
#include "ops/gather_rows.h"
#include "ops/scale.h"
#include "ops/update.h"
#include "passes/tally.h"
#include "tests/models/expert_mistakes.h"

namespace megalith::harness {

namespace {

const Type& type_of(RankSet& r, int p, int buffer) { return r.plan().programs[size_t(p)].buffers[size_t(buffer)].type; }
std::string leaf_of(RankSet& r, int p, int buffer) {
  const int leaf = r.plan().programs[size_t(p)].buffers[size_t(buffer)].leaf;
  return leaf < 0 ? "" : r.plan().leaves[size_t(leaf)].name;
}
bool is_of_experts(RankSet& r, const Type& t) {
  return t.ndim() > 2 && t.layout.state(*r.mesh().used(kEp).begin()) == split(0);
}
void run_here(RankSet& r, int p, const Instruction& in) {
  r.run_at(p, in, [](Coord c) { return c; });
}

// A fault: f(blocks of every rank) before the instruction, or on its first result after it.
template <class T, class F>
RankSet::Fault before(int input, F&& f) {
  return [=](RankSet& r, int p, const Instruction& in) {
    if (!in.op.get_if<T>()) return false;
    const Blocks was = r.blocks(p, in.ins[size_t(input)]);
    Blocks x = was;
    if (!f(r, p, in, x)) return false;
    r.set_blocks(p, in.ins[size_t(input)], x);
    run_here(r, p, in);
    r.set_blocks(p, in.ins[size_t(input)], was);
    return true;
  };
}
template <class T, class F>
RankSet::Fault behind(F&& f) {
  return [=](RankSet& r, int p, const Instruction& in) {
    if (!in.op.get_if<T>()) return false;
    run_here(r, p, in);
    Blocks y = r.blocks(p, in.outs[0]);
    f(r, p, in, y);
    r.set_blocks(p, in.outs[0], y);
    return true;
  };
}
void clear(std::vector<double>& x) { std::fill(x.begin(), x.end(), 0.0); }

}  // namespace

TEST(ExpertFaults, weights_of_rows_hear_nothing) {
  TrainingSpec s = with_losses();
  s.fault = behind<GatherWeightsGrad>([](RankSet&, int, const Instruction&, Blocks& dp) { clear(dp[0]); });
  expect_found(s, "numbers");
}

TEST(ExpertFaults, weights_of_another_layers_plan) {
  TrainingSpec s = routed();
  s.edit_forward = [](Graph& g) {
    const auto all = nodes_with<GatherWeights>(g, [](const GatherWeights&, const Node&) { return true; });
    const Node& first = g.nodes[size_t(all.at(0))];
    std::copy(first.ins.begin() + 1, first.ins.end(), g.nodes[size_t(all.at(1))].ins.begin() + 1);
  };
  expect_found(s, "numbers");
}

TEST(ExpertFaults, gradients_averaged_over_edp) {
  TrainingSpec s = routed({.dp = 4, .ep = 2}, kWhole);
  s.fault = [](RankSet& r, int p, const Instruction& in) {
    if (in.phase != Phase::update || !in.op.get_if<Relayout>() || !is_of_experts(r, type_of(r, p, in.ins[0])))
      return false;
    Blocks x = r.blocks(p, in.ins[0]);
    for (auto& block : x)
      for (double& v : block) v /= 2;
    r.set_blocks(p, in.ins[0], x);
    return false;
  };
  expect_found(s, "numbers");
}

TEST(ExpertFaults, norm_counts_the_experts_of_one_rank) {
  TrainingSpec s = routed({.dp = 4, .ep = 4}, kWhole);
  s.passes_off = {"multi-tensor"};
  s.fault = behind<SumSquares>([](RankSet& r, int p, const Instruction& in, Blocks& y) {
    if (!is_of_experts(r, type_of(r, p, in.ins[0]))) return;
    for (int rank = 0; rank < r.mesh().num_ranks(); ++rank)
      if (r.mesh().place(r.mesh().coord(rank), kEp) != 0) clear(y[size_t(rank)]);
  });
  expect_found(s, "numbers");
}

TEST(ExpertFaults, one_of_a_tokens_cotangents) {
  TrainingSpec s = routed();
  s.fault = before<CombineRows>(3, [](RankSet&, int, const Instruction& in, Blocks& slots) {
    for (size_t i = 0; i < slots[0].size(); i += 2) slots[0][i] = -1;  // of two slots the first
    return in.phase == Phase::backward;
  });
  expect_found(s, "numbers");
}

TEST(ExpertFaults, sum_over_etp_of_one_rank) {
  TrainingSpec s = routed({.dp = 2, .tp_kv = 2, .ep = 2, .etp = 2});
  s.fault = before<CombineRows>(0, [](RankSet& r, int, const Instruction&, Blocks& rows) {
    for (int rank = 0; rank < r.mesh().num_ranks(); ++rank)
      if (r.mesh().place(r.mesh().coord(rank), kEtp) != 0) clear(rows[size_t(rank)]);
    return true;
  });
  expect_found(s, "numbers");
}

TEST(ExpertFaults, rows_come_back_in_another_order) {
  TrainingSpec s = routed({.dp = 4, .ep = 4}, kWhole);
  s.fault = before<CombineRows>(3, [](RankSet&, int, const Instruction& in, Blocks& slots) {
    for (auto& block : slots) {
      const double last = *std::ranges::max_element(block);
      for (double& slot : block)
        if (slot >= 0) slot = last - slot;
    }
    return in.phase == Phase::forward;
  });
  expect_found(s, "numbers");
}

TEST(ExpertFaults, rows_beyond_a_budget_lost) {
  TrainingSpec s = routed({.dp = 4, .ep = 4}, kWhole);
  s.fault = behind<ExpertRows>([](RankSet&, int, const Instruction&, Blocks& ends) {
    for (auto& block : ends)
      for (double& end : block) end = std::min(end, 6.0);
  });
  expect_found(s, "numbers");
}

TEST(ExpertFaults, losses_of_the_router_weigh_another_number) {
  TrainingSpec s = with_losses();
  s.edit_all = [](Graph& g) {
    const auto is_seed = [&](const Scale& scale, const Node& n) { return is_of(n, "router losses") && scale.k == 0.3; };
    g.nodes[size_t(nodes_with<Scale>(g, is_seed).at(0))].op = Scale{0, 0.15};
  };
  expect_found(s, "numbers");
}

// Layers' counts and biases have one order.
std::string bias_of_counts(RankSet& r, int p, const Instruction& counts) {
  i64 before = 0;
  for (const Instruction& in : r.plan().programs[size_t(p)].instructions)
    if (const auto* add = in.op.get_if<AddInto>(); add && r.blocks(p, in.ins[1])[0].size() > 1)
      before += add->at < counts.op.get_if<AddInto>()->at;
  for (const auto& leaf : r.plan().leaves)
    if (leaf.name.ends_with("expert_bias") && before-- == 0) return leaf.name;
  return {};
}

TEST(ExpertFaults, bias_moved_behind_each_micro_batch) {
  TrainingSpec s = with_bias();
  s.fault = behind<AddInto>([](RankSet& r, int p, const Instruction& in, Blocks&) {
    const std::vector<double> n = r.blocks(p, in.ins[1])[0];
    if (n.size() == 1) return;
    const double mean = std::accumulate(n.begin(), n.end(), 0.0) / double(n.size());
    const auto& buffers = r.plan().programs[size_t(p)].buffers;
    for (size_t b = 0; b < buffers.size(); ++b) {
      if (leaf_of(r, p, int(b)) != bias_of_counts(r, p, in)) continue;
      Blocks bias = r.blocks(p, int(b));
      for (size_t e = 0; e < n.size(); ++e) bias[0][e] += n[e] < mean ? 1e-3 : n[e] > mean ? -1e-3 : 0;
      return r.set_blocks(p, int(b), bias);
    }
    ADD_FAILURE() << "no bias of these counts";
  });
  expect_found(s, "numbers");
}

TEST(ExpertFaults, counts_for_the_bias_not_summed) {
  TrainingSpec s = with_bias({.dp = 4, .ep = 4});
  s.fault = [](RankSet& r, int p, const Instruction& in) {
    if (!in.op.get_if<Relayout>() || !leaf_of(r, p, in.ins[0]).starts_with(kTally)) return false;
    r.set_blocks(p, in.outs[0], r.blocks(p, in.ins[0]));
    return true;
  };
  expect_found(s, "run: replicas differ");
}

}  // namespace megalith::harness
