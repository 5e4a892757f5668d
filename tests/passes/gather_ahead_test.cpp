// Tests of all-gathers of new weights during the forward: the positions of the transfers and of their waits.
#include "passes/gather_ahead.h"

#include <gtest/gtest.h>

#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "small_models.h"
#include "tests/harness/rank_set.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {

namespace {

struct BuiltStep {
  Graph g;
  std::vector<Bucket> buckets;
};

// Builds the graph of a training step. Buckets have 300 elements, so a layer has several. The gather of the first
// parameter is not delayed.
BuiltStep built(const ModelConfig& model, DType dtype, const std::set<std::string>& off = {}) {
  BuiltStep out;
  out.g.mesh = make_mesh({2, 1, 2, 1});
  Builder b(out.g);
  BuildMode mode;
  mode.batch = 2, mode.precision = computing_in(dtype);
  const auto gpt = Gpt(model, ParallelStyle{true}).build_whole(b, mode);
  out.buckets = make_buckets(out.g.mesh, gpt.parameters, 300, {}, mode.precision);
  for (Bucket& bucket : out.buckets) bucket.late = std::ranges::find(bucket.members, 0u) == bucket.members.end();
  gather_weights(b, out.buckets, gpt.parameters);
  verify(out.g);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.terms, mode.precision);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss.sum, acc.loss.weight}, {}, mode.precision, out.buckets,
             {true, true});
  run_passes(out.g, standard_passes(), off);
  run_passes(out.g, {{"gather-ahead", gather_ahead}});
  return out;
}

bool of_first_alone(const Node& n) { return n.first_only; }

// The index of the first node that reads the first member of a bucket.
int first_reader(const Graph& g, Value bucket) {
  for (int i = 0; i < int(g.nodes.size()); ++i)
    for (Value v : g.nodes[i].ins)
      if (g.info(v).bucket.bucket == bucket) return i;
  return -1;
}

}  // namespace

TEST(GatherAhead, begins_all_at_the_head_and_ends_each_where_it_is_read) {
  for (const ModelConfig& model : {gpt2(), llama()})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const auto& off : {std::set<std::string>{}, std::set<std::string>{"multi-tensor", "fuse-bias"}}) {
        const BuiltStep built_step = built(model, dtype, off);
        const Graph& g = built_step.g;
        const int late = int(std::ranges::count_if(built_step.buckets, [](const Bucket& p) { return p.late; }));
        ASSERT_GT(late, 4);
        ASSERT_EQ(late + 1, int(built_step.buckets.size()));
        int before = -1, ends = 0;
        for (int i = 0; i < int(g.nodes.size()); ++i) {
          const Node& n = g.nodes[i];
          EXPECT_TRUE(of_first_alone(n) || i >= late) << "the head is the gathers alone";
          if (!of_first_alone(n)) continue;
          EXPECT_EQ(n.phase, Phase::forward);
          if (const auto* r = n.op.get_if<Relayout>()) {
            EXPECT_LT(i, late);
            EXPECT_EQ(r->lane, kWeightLane);
            EXPECT_EQ(r->transfer, Transfer::all_gather);
            const int reader = first_reader(g, n.ins[1]);
            EXPECT_GE(reader, before) << "in the order of reading";
            before = reader;
          } else {
            ++ends;
            int next = i;  // several buckets may have the same first reader
            while (of_first_alone(g.nodes[next])) ++next;
            EXPECT_EQ(first_reader(g, g.nodes[g.info(n.ins[0]).node].ins[1]), next);
          }
        }
        EXPECT_EQ(ends, late);
      }
}

// The update gathers the weights that the forward reads first. It updates them first.
TEST(GatherAhead, the_update_gathers_the_first_bucket_alone) {
  const BuiltStep step = built(llama(), DType::bf16, {"multi-tensor"});
  const Bucket& bucket = *std::ranges::find(step.buckets, false, &Bucket::late);
  std::vector<std::string> gathered;
  std::optional<bool> first_update;  // of the bucket that the update gathers
  for (const Node& n : step.g.nodes) {
    const auto* r = n.op.get_if<Relayout>();
    if (n.op.get_if<Update>() && !first_update) first_update = step.g.info(n.ins[0]).name == main_name(bucket.name);
    if (r && r->into && n.phase == Phase::update) gathered.push_back(step.g.info(n.ins[1]).name);
  }
  EXPECT_EQ(gathered, std::vector<std::string>{bucket.name});
  EXPECT_EQ(first_update, true);
}

TEST(GatherAhead, reading_a_weight_before_its_gather_ends_is_an_error) {
  Graph g = built(gpt2(), DType::f32).g;
  std::vector<Node> nodes = g.nodes;
  const auto end = std::ranges::find_if(nodes, [](const Node& n) { return of_first_alone(n) && n.op.get_if<Wait>(); });
  const auto reader = std::find_if_not(end, nodes.end(), of_first_alone);
  std::rotate(end, end + 1, reader + 1);
  set_nodes(g, std::move(nodes));
  try {
    verify(g);
    FAIL() << "it verifies";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("while its bucket is being written"), std::string::npos) << e.what();
  }
}

TEST(GatherAhead, what_runs_once_a_step_reads_nothing_of_a_micro_batch) {
  Graph g = built(gpt2(), DType::f32).g;
  const auto reads_another = [&](const Node& n) {
    const auto of_each = [&](Value v) { return g.info(v).node >= 0 && !g.nodes[size_t(g.info(v).node)].first_only; };
    return std::ranges::any_of(n.ins, of_each);
  };
  std::ranges::find_if(g.nodes, reads_another)->first_only = true;
  try {
    verify(g);
    FAIL() << "it verifies";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("runs in a step's first micro-batch only, but reads"), std::string::npos)
        << e.what();
  }
}

// Runs on ranks that communicate, with the CPU's executor.
TEST(GatherAhead, later_micro_batches_gather_nothing) {
  Graph g;
  g.mesh = make_mesh({2, 1, 1, 1});
  Builder b(g);
  Type whole_type{DType::f32, {8}, whole(1)}, part = whole_type;
  whole_type.layout.copy.insert(groups::data), part.layout.dims[0].add({groups::data});
  b.wait(b.move_into(b.leaf({"part", part}), {groups::data}, kCopy, b.leaf({"whole", whole_type}), kWeightLane, true));
  const Plan plan = harness::plan_graph(g);
  harness::run_ranks(2, [&](Ranks& ranks) {
    cpu::Executor executor(plan, g.mesh.coord(ranks.rank()), &ranks);
    const auto gathered = [&](float value, bool first) {
      std::fill_n(reinterpret_cast<float*>(executor.leaf("part")), 4, value + float(ranks.rank()));
      executor.run(0, first);
      const float* all = reinterpret_cast<const float*>(executor.leaf("whole"));
      return std::vector<float>(all, all + 8);
    };
    const std::vector<float> ones = {1, 1, 1, 1, 2, 2, 2, 2}, threes = {3, 3, 3, 3, 4, 4, 4, 4};
    EXPECT_EQ(gathered(1, true), ones);
    EXPECT_EQ(gathered(2, false), ones);
    EXPECT_EQ(gathered(3, true), threes);
  });
}

}  // namespace megalith
