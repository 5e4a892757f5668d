// The search against planning every layout.
#include "search/search.h"

#include <gtest/gtest.h>

#include "search/estimate.h"
#include "search/space.h"
#include "search_case.h"

namespace megalith::search {
namespace {

struct World {
  const char* name;
  std::string flags;
  i64 gpus;
  double gib;
  double slower_links = 1;
};

DeviceFacts device_of(const World& w, double gib) {
  DeviceFacts f = small_device(gib);
  if (w.slower_links == 1) return f;
  f.node.gbps /= w.slower_links;
  for (auto& [bytes, rate] : f.node.busbw) rate /= w.slower_links;
  f.transfers.clear();
  return f;
}

const World kWorlds[] = {
    {"all ranks", "--micro-batch-size 2 --cp-comm-type all_gather --recompute-granularity full ", 8, 8},
    {"little memory", "--pipeline-schedule 1f1b --context-parallel-size 1 --use-distributed-optimizer ", 4, 0.8},
    {"experts",
     "--num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 512 --context-parallel-size 1 --micro-batch-size 1 "
     "--pipeline-schedule 1f1b --recompute-granularity full --use-distributed-optimizer ",
     8, 8},
    // Products overlap their transfers also forward, as a rank has many tokens. Transfers take nearly as long.
    {"long sequences",
     "--num-layers 32 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 --group-query-attention "
     "--num-query-groups 8 --seq-length 4096 --micro-batch-size 2 --pipeline-model-parallel-size 1 "
     "--context-parallel-size 1 ",
     4, 1000, 2},
    // Products of codes are faster than any that was measured.
    {"codes",
     "--fp8-format hybrid --num-layers 16 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 "
     "--group-query-attention --num-query-groups 8 --seq-length 4096 --micro-batch-size 2 --context-parallel-size 1 "
     "--pipeline-model-parallel-size 1 ",
     2, 1000},
    // The head keeps more bytes than all layers.
    {"large vocabulary",
     "--num-layers 8 --vocab-size 128256 --micro-batch-size 8 --global-batch-size 64 --tensor-model-parallel-size 1 "
     "--context-parallel-size 1 ",
     4, 16},
};

std::vector<double> seconds_of(const Outcome& found, size_t most) {
  std::vector<double> out;
  for (const Found& f : found.best)
    if (out.size() < most) out.push_back(f.price.time.seconds);
  return out;
}

std::vector<Found> best_on_h100s(const std::string& flags, i64 gpus) {
  Searcher searcher(base_of(flags), find_facts("h100"));
  return searcher.run({.gpus = gpus, .top = 1}).best;
}

}  // namespace

TEST(Search, finds_what_planning_every_layout_finds) {
  constexpr size_t kTop = 5;
  for (const World& w : kWorlds) {
    SCOPED_TRACE(w.name);
    Searcher searcher(base_of(kSmall + w.flags), device_of(w, w.gib));
    const Outcome all = searcher.run({.gpus = w.gpus, .top = kTop, .brute = true});
    const Outcome found = searcher.run({.gpus = w.gpus, .top = kTop});
    ASSERT_FALSE(all.best.empty());
    EXPECT_LT(found.planned, all.planned);
    EXPECT_EQ(seconds_of(found, 1), seconds_of(all, 1));
    for (size_t i = 0; i < kTop; ++i)  // the others are among the best but for the estimates' error
      EXPECT_LE(found.best.at(i).price.time.seconds, all.best.at(i).price.time.seconds * (1 + kError));
    for (const Found& f : found.best) {
      const auto same = std::ranges::find(all.best, f.choice, &Found::choice);
      ASSERT_NE(same, all.best.end());
      EXPECT_EQ(f.price.fullest.need.total(), same->price.fullest.need.total()) << to_string(f.choice);
    }
  }
}

// The end of the first model has a layer too. The second one has layers of two kinds, and the third alternates them.
TEST(Search, pairs_are_of_neighbours_of_a_kind) {
  const std::string experts = "--num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 512 --num-layers 4 ";
  const std::pair<std::string, bool> cases[] = {{"--mtp-num-layers 1 ", true},
                                                {experts + "--moe-layer-freq [0,0,1,1] ", true},
                                                {experts + "--moe-layer-freq [0,1,1,1] ", true},
                                                {experts + "--moe-layer-freq 2 ", false}};
  for (const auto& [flags, has_pairs] : cases) {
    SCOPED_TRACE(flags);
    Options base = base_of(kSmall + flags);
    base.parallel.world_size = 4;
    const DeviceFacts facts = small_device(1000);
    BlockCosts costs(base, facts);
    InFlight in_flight;
    Choice c{.tp = 2, .etp = 2, .micro_batch = 2};
    c.tp_overlap = true;
    const std::optional<Estimate> e = estimate_by_pairs(with(base, c), c, costs, in_flight, facts);
    ASSERT_EQ(e.has_value(), has_pairs);
    if (e) EXPECT_NEAR(e->seconds / price_of(base, c, "", facts).time.seconds, 1, 0.05);
  }
}

// The rules refuse them together. Where nothing fits, such a layout would be told as a mistake of the user.
TEST(Search, offloads_activations_without_the_zero_bubble_schedule) {
  const Options base = base_of(kSmall);
  Space space = space_of(base, 8, 8);
  for (const bool offload : {false, true}) {
    space.offload = offload;
    Reasons reasons;
    const std::vector<Choice> choices = choices_of(space, base, 8, reasons);
    EXPECT_FALSE(choices.empty());
    EXPECT_EQ(std::ranges::any_of(choices, &Choice::zero_bubble), !offload);
  }
}

// A measured product of fp8 codes is faster than all of a plan in bf16.
TEST(Search, products_of_codes_do_not_bound_plans_in_bf16) {
  DeviceFacts facts = small_device(80);
  const auto seconds = [&](const std::string& flags) {
    const Options base = base_of(std::string(kSmall) + flags);
    return Bounds(base, facts, 1).of({}).seconds;
  };
  const std::string fp8 = "--fp8-format hybrid";
  const double in_bf16 = seconds(""), in_fp8 = seconds(fp8);
  facts.products.push_back({"f8_tensors e4m3 x e4m3 -> bf16, nt", {4096, 4096, 4096}, 1e12, 1e-5});
  EXPECT_EQ(seconds(""), in_bf16);
  EXPECT_LT(seconds(fp8), in_fp8);
}

// What the search relies on: no layout is faster, or smaller, than the prices that it is left by allow.
TEST(Search, bounds_and_estimates_never_leave_a_layout_that_is_among_the_best) {
  for (const World& w : kWorlds) {
    SCOPED_TRACE(w.name);
    Options base = base_of(kSmall + w.flags);
    base.parallel.world_size = w.gpus;
    const DeviceFacts facts = device_of(w, 1000);
    const Bounds bounds(base, facts, w.gpus);
    BlockCosts costs(base, facts);
    StageTexts texts(base);
    InFlight in_flight;
    RoughCosts rough(base, facts, w.gpus, costs, in_flight);
    Searcher searcher(base, facts);
    for (const Found& f : searcher.run({.gpus = w.gpus, .brute = true}).best) {
      const Bound bound = rough.of(f.choice, bounds.of(f.choice));
      const Options o = with(base, f.choice, texts.of(f.choice));
      const Estimate e = estimate(o, f.choice, costs, in_flight, facts);
      const double seconds = f.price.time.seconds, bytes = double(f.price.fullest.need.total());
      EXPECT_LE(bound.seconds, seconds) << to_string(f.choice);
      EXPECT_LE(bound.bytes, bytes) << to_string(f.choice);
      EXPECT_GE(seconds, e.seconds * (1 - e.error)) << to_string(f.choice);
      EXPECT_GE(bytes * (1 + kMemoryError) + kMemorySlack, e.bytes) << to_string(f.choice);
      if (!layers_overlap(base, f.choice)) continue;
      const std::optional<Estimate> finer = estimate_by_pairs(o, f.choice, costs, in_flight, facts);
      ASSERT_TRUE(finer.has_value());
      EXPECT_GE(seconds, finer->seconds * (1 - finer->error)) << to_string(f.choice);
      EXPECT_GE(bytes * (1 + kMemoryError) + kMemorySlack, finer->bytes) << to_string(f.choice);
    }
  }
}

// Whole plans of a pipeline without few tasks, so that the estimates' error is small.
TEST(Search, the_overlap_of_two_layers_tells_that_of_a_stage) {
  Options base = base_of(kSmall + std::string("--global-batch-size 512 --num-layers 12 --hidden-size 2048 "));
  base.parallel.world_size = 8;
  const DeviceFacts facts = small_device(1000);
  BlockCosts costs(base, facts);
  InFlight in_flight;
  for (const bool zero_bubble : {false, true})
    for (const i64 pp : {1, 2}) {
      Choice c{.tp = 4, .pp = pp, .etp = 4, .micro_batch = 2};
      c.tp_overlap = true, c.zero_bubble = zero_bubble && pp > 1;
      SCOPED_TRACE(to_string(c));
      const double exact = price_of(base, c, "", facts).time.seconds;
      const Estimate e = estimate(with(base, c), c, costs, in_flight, facts);
      const std::optional<Estimate> finer = estimate_by_pairs(with(base, c), c, costs, in_flight, facts);
      ASSERT_TRUE(finer.has_value());
      EXPECT_NEAR(finer->seconds / exact, 1, 0.02);
      EXPECT_LT(e.seconds, finer->seconds);
    }
}

TEST(Search, overlaps_transfers_between_tensor_parallel_ranks) {
  const std::string flags = std::string(kSmall) + "--tensor-model-parallel-size 4 --micro-batch-size 4 ";
  const Outcome free = Searcher(base_of(flags), small_device(80)).run({.gpus = 4, .top = 1});
  const Outcome off = Searcher(base_of(flags + "--tp-comm-overlap=false"), small_device(80)).run({.gpus = 4, .top = 1});
  const Outcome on = Searcher(base_of(flags + "--tp-comm-overlap"), small_device(80)).run({.gpus = 4, .top = 1});
  for (const Outcome* found : {&free, &off, &on}) ASSERT_FALSE(found->best.empty());
  EXPECT_TRUE(free.best[0].choice.tp_overlap);
  EXPECT_TRUE(on.best[0].choice.tp_overlap);
  EXPECT_FALSE(off.best[0].choice.tp_overlap);
  EXPECT_EQ(free.best[0].price.time.seconds, on.best[0].price.time.seconds);
  EXPECT_LT(free.best[0].price.time.seconds, off.best[0].price.time.seconds);
}

TEST(Search, more_bandwidth_and_more_memory_are_never_slower) {
  const Options base = base_of(std::string(kSmall) + "--cp-comm-type all_gather --pipeline-schedule 1f1b ");
  DeviceFacts facts = small_device(1.2);
  const auto best = [&] {
    const Outcome found = Searcher(base, facts).run({.gpus = 8, .top = 1});
    return found.best.empty() ? 1e9 : found.best[0].price.time.seconds;
  };
  double before = best();
  for (int i = 0; i < 2; ++i) {
    facts.network.gbps *= 2;
    EXPECT_LE(best(), before);
    before = best();
    facts.memory_bytes *= 2;
    EXPECT_LE(best(), before);
    before = best();
  }
}

TEST(Search, what_is_given_is_fixed) {
  Searcher searcher(base_of(std::string(kSmall) + "--tensor-model-parallel-size 2 --micro-batch-size 4 "
                                                  "--recompute-granularity full --pipeline-schedule zero-bubble"),
                    small_device(80));
  const Outcome found = searcher.run({.gpus = 8});
  ASSERT_FALSE(found.best.empty());
  for (const Found& f : found.best) {
    EXPECT_EQ(f.choice.tp, 2);
    EXPECT_EQ(f.choice.micro_batch, 4);
    EXPECT_EQ(f.choice.recompute, Recompute::flags);
    EXPECT_TRUE(f.choice.pp == 1 || f.choice.zero_bubble);
  }
}

TEST(Search, what_nothing_can_hold_is_told_with_the_nearest_misses) {
  Searcher searcher(base_of(kSmall), small_device(0.2));
  const Outcome found = searcher.run({.gpus = 2});
  EXPECT_TRUE(found.best.empty());
  EXPECT_TRUE(found.mistakes.empty());
  ASSERT_FALSE(found.misses.empty());
  EXPECT_GT(found.misses[0].bytes, 0.2 * (1 << 30) * 0.95);
  EXPECT_GT(found.reasons.at("memory").count, 0);
  i64 refused = 0;
  for (const auto& [reason, r] : found.reasons) refused += r.count;
  EXPECT_EQ(refused, found.layouts);
}

// GPT-3 on 128 GPUs: recomputation fits, but activations in host memory are faster.
TEST(Search, activations_go_to_the_host_where_only_recomputation_fits) {
  const std::string flags =
      "--bf16 --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --vocab-size 51200 "
      "--global-batch-size 256 --tp-comm-overlap --tensor-model-parallel-size 4 --pipeline-model-parallel-size 8 "
      "--context-parallel-size 1 --num-virtual-stages-per-pipeline-rank 12 --micro-batch-size 1 "
      "--pipeline-schedule 1f1b ";
  const std::vector<Found> free = best_on_h100s(flags, 128),
                           recomputing = best_on_h100s(flags + "--recompute-granularity full ", 128);
  ASSERT_FALSE(free.empty() || recomputing.empty());
  EXPECT_TRUE(free[0].choice.offload);
  EXPECT_LT(free[0].price.time.seconds, 0.9 * recomputing[0].price.time.seconds);
}

// Llama 70B on 64 GPUs: 8 pipeline stages fit, but 4 stages with activations in host memory are faster.
TEST(Search, activations_go_to_the_host_where_that_is_faster_than_a_longer_pipeline) {
  const std::string flags =
      "--swiglu --bf16 --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights "
      "--position-embedding-type rope --num-layers 80 --hidden-size 8192 --num-attention-heads 64 --num-query-groups 8 "
      "--ffn-hidden-size 28672 --seq-length 8192 --vocab-size 128256 --global-batch-size 1024 --tp-comm-overlap "
      "--tensor-model-parallel-size 4 --context-parallel-size 1 --micro-batch-size 1 --pipeline-schedule 1f1b "
      "--num-virtual-stages-per-pipeline-rank 1 ";
  const std::vector<Found> free = best_on_h100s(flags, 64),
                           longer = best_on_h100s(flags + "--pipeline-model-parallel-size 8 ", 64);
  ASSERT_FALSE(free.empty() || longer.empty());
  EXPECT_EQ(longer[0].choice.recompute, Recompute::none);
  EXPECT_TRUE(free[0].choice.offload);
  EXPECT_EQ(free[0].choice.pp, 4);
  EXPECT_LT(free[0].price.time.seconds, 0.97 * longer[0].price.time.seconds);
}

TEST(Search, a_rule_that_every_layout_breaks_is_a_mistake_of_the_flags) {
  Searcher searcher(base_of(std::string(kSmall) + "--group-query-attention --num-query-groups 3"), small_device(80));
  const Outcome found = searcher.run({.gpus = 2});
  ASSERT_FALSE(found.mistakes.empty());
  EXPECT_NE(found.mistakes[0].find("--num-query-groups 3"), std::string::npos);
}

// The messages of some rules hold sizes of the layout.
TEST(Search, a_size_that_no_layout_can_have_is_a_mistake_of_the_flags) {
  const auto mistakes = [](const std::string& flags, i64 gpus) {
    Searcher searcher(base_of(std::string(kSmall) + flags), small_device(80));
    std::string out;
    for (const std::string& line : searcher.run({.gpus = gpus}).mistakes) out += line + "\n";
    return out;
  };
  const auto holds = [](const std::string& text, const std::string& part) { return text.find(part) != text.npos; };
  const std::string three = mistakes("--tensor-model-parallel-size 3", 8);
  EXPECT_TRUE(holds(three, "--tensor-model-parallel-size 3")) << three;
  EXPECT_TRUE(holds(three, "8 ranks are not divisible by tensor 3")) << three;
  const std::string wide = mistakes("--tensor-model-parallel-size 16", 16);
  EXPECT_TRUE(holds(wide, "--num-attention-heads 8")) << wide;
  const std::string odd = mistakes("--global-batch-size 7 --micro-batch-size 2", 8);
  EXPECT_TRUE(holds(odd, "--global-batch-size 7 is not divisible by --micro-batch-size 2")) << odd;
  EXPECT_TRUE(holds(odd, "every layout breaks this rule")) << odd;
  EXPECT_EQ(mistakes("--tensor-model-parallel-size 4", 8), "");
}

}  // namespace megalith::search
