// The prices of transfers between sites.
#include "search/sites.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "search/choice.h"
#include "search/space.h"
#include "search_case.h"

namespace megalith::search {
namespace {

const char* const k70B =
    "--num-layers 80 --hidden-size 8192 --num-attention-heads 64 --num-query-groups 8 --ffn-hidden-size 28672 "
    "--seq-length 8192 --vocab-size 128256 --swiglu --bf16 --normalization RMSNorm --disable-bias-linear "
    "--untie-embeddings-and-output-weights --position-embedding-type rope --global-batch-size 1024 ";
const char* const k405B =
    "--num-layers 126 --hidden-size 16384 --num-attention-heads 128 --num-query-groups 8 --ffn-hidden-size 53248 "
    "--seq-length 8192 --vocab-size 128256 --swiglu --bf16 --normalization RMSNorm --disable-bias-linear "
    "--untie-embeddings-and-output-weights --position-embedding-type rope --global-batch-size 1024 ";

Options layout_of(const std::string& line, i64 gpus = 1024, i64 micro_batch = 1) {
  Options base = base_of(line);
  base.parallel.world_size = gpus;
  return with(base, {.tp = 8, .pp = 8, .micro_batch = micro_batch});
}

Sites two(double latency = 0) {
  return {.all = {{"a", 512}, {"b", 512}}, .bandwidth = parse_bandwidth("800Gb"), .latency = latency};
}

std::string error_of_sites(const std::string& text) {
  try {
    (void)parse_sites(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

// Gradients cross once in each direction. The times are 4 or 2 bytes per parameter over 100 GB/s.
TEST(Sites, ReduceInTheTimesOfTheirBytes) {
  const auto seconds = [](const std::string& line, SiteMode mode) {
    return site_time(layout_of(line), {.seconds = 10}, two(), mode).seconds;
  };
  const std::string bf16 = "--grad-reduce-in-bf16 ";
  EXPECT_NEAR(seconds(k70B, SiteMode::hierarchical), 2.82, 0.01);
  EXPECT_NEAR(seconds(k70B + bf16, SiteMode::hierarchical), 1.41, 0.01);
  EXPECT_NEAR(seconds(k405B, SiteMode::hierarchical), 16.2, 0.05);
  EXPECT_NEAR(seconds(k405B + bf16, SiteMode::hierarchical), 8.1, 0.05);
  EXPECT_NEAR(seconds(k70B, SiteMode::local_sgd), 0.00706, 1e-5);
  EXPECT_NEAR(seconds(k405B, SiteMode::local_sgd), 0.0406, 1e-4);
  // A ring of 16 replicas sends 15/16 of f32 gradients, and of bf16 weights.
  EXPECT_NEAR(seconds(std::string(k70B) + "--use-distributed-optimizer ", SiteMode::flat), 15.0 / 16 * 4.233, 0.01);
}

TEST(Sites, PayTheLatencyOfEachHop) {
  const auto added = [](SiteMode mode) {
    const Options o = layout_of(k70B);
    const double seconds = site_time(o, {.seconds = 10}, two(0.02), mode).seconds;
    return seconds - site_time(o, {.seconds = 10}, two(), mode).seconds;
  };
  EXPECT_NEAR(added(SiteMode::hierarchical), 2 * 0.02, 1e-9);
  EXPECT_NEAR(added(SiteMode::flat), 4 * 0.02, 1e-9);
  EXPECT_NEAR(added(SiteMode::local_sgd), 2 * 0.02 / 100, 1e-9);
}

// Two thirds of one micro-batch.
TEST(Sites, HideTransfersBehindTheLastBackward) {
  const auto hidden = [](const Options& o, double step) {
    const SiteTime t = site_time(o, {.seconds = step, .bubble = 0.25}, two(0.02), SiteMode::hierarchical);
    return t.seconds - t.exposed;
  };
  const std::string overlaps = std::string(k70B) + "--overlap-grad-reduce --use-distributed-optimizer ";
  EXPECT_NEAR(hidden(layout_of(overlaps), 12), 2.0 / 3 * 12 / 1.25 / 64, 1e-9);
  EXPECT_NEAR(hidden(layout_of(overlaps, 1024, 8), 12), 2.0 / 3 * 12 / 1.25 / 8, 1e-9);
  EXPECT_NEAR(hidden(layout_of(overlaps, 1024, 8), 1e6), 2.82, 0.01) << "the latency stays exposed";
  EXPECT_EQ(hidden(layout_of(std::string(k70B) + "--overlap-grad-reduce=false "), 12), 0);
}

TEST(Sites, AreNeverLocalUnlessAsked) {
  Sites sites = two();
  EXPECT_EQ(chosen_site_time(layout_of(k70B), {.seconds = 10}, sites).mode, SiteMode::hierarchical);
  for (const SiteMode mode : {SiteMode::flat, SiteMode::hierarchical, SiteMode::local_sgd}) {
    sites.mode = mode;
    EXPECT_EQ(chosen_site_time(layout_of(k70B), {.seconds = 10}, sites).mode, mode);
  }
}

TEST(Sites, HoldWholeReplicas) {
  const Options base = base_of(std::string(kSmall) + "--global-batch-size 24 ");
  Space space = space_of(base, 12, 8);
  Reasons free, held;
  const std::vector<Choice> all = choices_of(space, base, 12, free);
  space.site_gpus = Sites{.all = {{"a", 4}, {"b", 8}}}.common();
  EXPECT_EQ(space.site_gpus, 4);
  const std::vector<Choice> some = choices_of(space, base, 12, held);
  ASSERT_FALSE(some.empty());
  EXPECT_LT(some.size(), all.size());
  for (const Choice& c : some) EXPECT_EQ(4 % (c.tp * c.pp * c.cp), 0) << to_string(c);
  EXPECT_TRUE(held.contains("the GPUs of a site are not a multiple of tp x pp x cp"));
}

TEST(Sites, AreReadFromFlags) {
  const std::vector<SiteSize> sites = parse_sites("east:512,west:256");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[1].name, "west");
  EXPECT_EQ(sites[1].gpus, 256);
  for (const char* bad : {"", "a", "a:4", "a:4,", "a:4,a:4", "a:4,b:0", "a:4,b:-4", "a:4,:4", "a:4,b:4x", "a:4,b:1e3",
                          "a:4,b:99999999999999999999"})
    EXPECT_NE(error_of_sites(bad).find("want two sites or more with their GPUs"), std::string::npos) << bad;
  EXPECT_EQ(parse_bandwidth("800Gb"), 1e11);
  EXPECT_EQ(parse_bandwidth("100GB"), 1e11);
  EXPECT_EQ(parse_bandwidth("0.5Tb"), 62.5e9);
  for (const char* bad : {"", "800", "Gb", "0Gb", "-1Gb", "nanGb", "infGB", "1e999Gb", "800Gbps"})
    EXPECT_THROW((void)parse_bandwidth(bad), Error) << bad;
  EXPECT_DOUBLE_EQ(parse_latency("20ms"), 0.02);
  EXPECT_DOUBLE_EQ(parse_latency("0.02s"), 0.02);
  EXPECT_EQ(parse_latency("0us"), 0);
  for (const char* bad : {"", "20", "ms", "-1ms", "nans", "20 ms"})
    EXPECT_THROW((void)parse_latency(bad), Error) << bad;
}

}  // namespace megalith::search
