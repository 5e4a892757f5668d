// Tests of training in fp8 and fp4. Each recipe saves and resumes with the same bits, also to and from other recipes.
// Several ranks have the same losses as one.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <regex>

#include "workshop.h"

namespace megalith::test {
namespace {

struct Case {
  const char* name;
  const char* flags;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr Case kCases[] = {{"tensorwise", "--fp8-format hybrid --fp8-recipe tensorwise"},
                           {"delayed", "--fp8-format hybrid --fp8-amax-history-len 4 --fp8-amax-compute-algo max"},
                           {"blockwise", "--fp8-format e4m3 --fp8-recipe blockwise"},
                           {"mxfp8", "--fp8-format e4m3 --fp8-recipe mxfp8"},
                           {"nvfp4", "--fp4-format e2m1"},
                           {"head", "--fp8-format hybrid --fp8-amax-history-len 2 --fp8-head all"}};

class Fp8 : public Workshop {
 protected:
  std::string line(const std::string& dir, const std::string& more) {
    return pretrain(fmt::format(
        "--bf16 --device cpu --save-interval 100 --save {0} --load {0} --metrics-file {0}.jsonl --lr-decay-iters 10 "
        "--global-batch-size 4 --log-interval 1 --seed 5 {1}",
        *this / dir, more));
  }
  void expect_same_tensors(const std::string& a, const std::string& b) {
    const Ran diff = megalith("inspect --diff " + *this / a + " " + *this / b);
    EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
  }
  void expect_said(const Ran& ran, const std::string& part) {
    EXPECT_NE((ran.out + ran.err).find(part), std::string::npos) << ran.out << ran.err;
  }
};

class Fp8Recipes : public Fp8, public ::testing::WithParamInterface<Case> {};

}  // namespace

// One of two runs is cut and resumed. The weights, the optimizer's state and the amax history must have the same bits.
TEST_P(Fp8Recipes, ResumeToTheSameBits) {
  const std::string flags = GetParam().flags;
  must(line("whole", flags + " --train-iters 6"));
  must(line("cut", flags + " --train-iters 3")), must(line("cut", flags + " --train-iters 6"));
  expect_same_tensors("whole/iter_0000006", "cut/iter_0000006");
  const auto whole = digits(*this / "whole.jsonl"), cut = digits(*this / "cut.jsonl");
  EXPECT_EQ(whole.contains("6 fp8_scale_min"), flags.find("amax-history") != std::string::npos);
  for (const auto& [key, value] : whole)
    if (key.find(" fp8_") != std::string::npos) EXPECT_EQ(cut.contains(key) ? cut.at(key) : "none", value) << key;
  must(line("theirs", flags + " --train-iters 3 --ckpt-format torch_dist"));
  must(line("theirs", flags + " --train-iters 6"));
  expect_same_tensors("whole/iter_0000006", "theirs/iter_0000006");
  must(line("again", flags + " --train-iters 6 --recompute-granularity full"));
  expect_same_tensors("whole/iter_0000006", "again/iter_0000006");
}

// The loss falls as in bf16.
TEST_P(Fp8Recipes, LearnAsInBf16) {
  const std::string end = " --train-iters 20 --eval-iters 0";
  must(line("wide", end)), must(line("narrow", GetParam().flags + end));
  const auto wide = digits(*this / "wide.jsonl"), narrow = digits(*this / "narrow.jsonl");
  const double first = std::stod(wide.at("1 lm_loss")), last = std::stod(wide.at("20 lm_loss")),
               got = std::stod(narrow.at("20 lm_loss"));
  EXPECT_NE(wide.at("20 lm_loss"), narrow.at("20 lm_loss"));
  EXPECT_NEAR(got, last, 0.05 * (first - last)) << first;
}

INSTANTIATE_TEST_SUITE_P(, Fp8Recipes, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Codes are the same under each layout, except if a differently rounded bf16 sum gives another code.
TEST_F(Fp8, TrainsOnRanksAsOnOne) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  for (const Case& c : {kCases[0], kCases[1]}) {
    const std::string flags = std::string(c.flags) + " --train-iters 6 ", name = c.name;
    must(line(name + "one", flags));
    const auto one = digits(*this / (name + "one.jsonl"));
    for (const std::string more : {"--tensor-model-parallel-size 2 --sequence-parallel", "--context-parallel-size 2",
                                   "", "--pipeline-model-parallel-size 2",
                                   "--use-distributed-optimizer --overlap-param-gather --overlap-grad-reduce"}) {
      const Ran ran = megalith(line(name + "two", flags + more), {.ranks = 2});
      ASSERT_TRUE(ran.ok()) << more << ran.err;
      for (const auto& [key, value] : digits(*this / (name + "two.jsonl")))
        if (key.find("lm_loss") != std::string::npos)
          EXPECT_NEAR(std::stod(value), std::stod(one.at(key)), 0.02) << name << " " << more << " " << key;
      must("inspect --load " + *this / (name + "two"));
      std::filesystem::remove_all(*this / (name + "two"));
      std::filesystem::remove(*this / (name + "two.jsonl"));
    }
  }
}

// Pipelines with several micro-batches in flight, recomputation and delayed weight gradients do not change codes and
// histories.
TEST_F(Fp8, PipelinesHaveTheSameBits) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const std::string two = std::string(kCases[1].flags) + " --train-iters 4 --micro-batch-size 1 --num-layers 4 ";
  const std::string pipeline = two + "--pipeline-model-parallel-size 2 ";
  const auto on_two = [&](const std::string& dir, const std::string& flags) {
    const Ran ran = megalith(line(dir, flags), {.ranks = 2});
    ASSERT_TRUE(ran.ok()) << ran.err;
  };
  on_two("plain", pipeline);
  on_two("again", pipeline + "--recompute-granularity full");
  on_two("apart", pipeline + "--pipeline-schedule zero-bubble");
  on_two("pieces", pipeline + "--num-layers-per-virtual-pipeline-stage 1");
  for (const char* dir : {"again", "apart", "pieces"})
    expect_same_tensors("plain/iter_0000004", std::string(dir) + "/iter_0000004");
}

TEST_F(Fp8, GoesOnFromOtherRecipes) {
  const std::string delayed = "--fp8-format hybrid ", tensorwise = delayed + "--fp8-recipe tensorwise ";
  must(line("bf16", "--train-iters 2"));
  expect_said(must(line("bf16", delayed + "--train-iters 4")), "the scales of fp8 start empty");
  expect_said(must(line("bf16", delayed + "--fp8-amax-history-len 8 --train-iters 5")),
              "the scales of fp8 start empty");
  for (const char* changed : {"--fp8-format e4m3", "--fp8-format hybrid --fp8-margin 1"})
    expect_refused(line("bf16", fmt::format("{} --fp8-amax-history-len 8 --train-iters 6", changed)),
                   "another --fp8-format or --fp8-margin");
  const Ran other = must(line("bf16", tensorwise + "--train-iters 6"));
  expect_said(other, "has scales of --fp8-recipe delayed, which are not read");
  expect_said(other, "fp8_recipe delayed -> tensorwise");
  expect_said(must(line("bf16", "--train-iters 7")), "fp8_format hybrid -> none");
}

// --dtype applies to weights: scales and histories keep their types.
TEST_F(Fp8, AConversionToBf16KeepsTheScales) {
  must(line("delayed", "--fp8-format hybrid --train-iters 3"));
  must("convert --load " + *this / "delayed" + " --to native --dtype bf16 --no-load-optim --save " + *this / "bf16");
  const std::string tensors = must("inspect " + *this / "bf16").out;
  EXPECT_TRUE(std::regex_search(tensors, std::regex("word_embeddings\\.weight +bf16"))) << tensors;
  const std::regex state("fp8_state[^\n]*");
  size_t found = 0;
  for (std::sregex_iterator it(tensors.begin(), tensors.end(), state), end; it != end; ++it, ++found)
    EXPECT_NE(it->str().find("f32"), std::string::npos) << it->str();
  EXPECT_GT(found, 0u) << tensors;
}

// Validation casts with the current scales and does not change them.
TEST_F(Fp8, AnEvaluationLeavesNoTrace) {
  must(line("plain", std::string(kCases[1].flags) + " --train-iters 4 --eval-iters 0"));
  must(line("evaluated", std::string(kCases[1].flags) + " --train-iters 4 --eval-iters 2 --eval-interval 1"));
  expect_same_tensors("plain/iter_0000004", "evaluated/iter_0000004");
}

TEST_F(Fp8, SaysWhatReadsCodes) {
  const std::string plan = " --train-iters 2 --dry-run";
  expect_said(must(line("x", kCases[0].flags + plan)), "tensorwise: 36 products of 12 linear layers read codes");
  const Ran ends =
      must(line("x", kCases[2].flags + std::string(" --num-layers 3 --first-last-layers-bf16 --no-fp8-wgrad") + plan));
  expect_said(ends, "blockwise: 12 products of 6 linear layers read codes");
  expect_said(ends, "not quantized: decoder.layers.0.self_attention.linear_q.weight");
  expect_said(must(line("y", kCases[1].flags + std::string(" --train-iters 1"))),
              "codes       36 products of 12 linear layers read codes in each micro-batch");
  expect_said(must(line("x", kCases[3].flags + plan)), "--fp8-recipe mxfp8 is emulated");
  expect_said(must(line("x", "--fp8 hybrid --fp8-recipe tensorwise" + plan)), "--fp8 is read as --fp8-format");
}

TEST_F(Fp8, RefusesWhatIsNotBuilt) {
  for (const auto& [flags, said] : std::vector<std::pair<std::string, std::string>>{
           {"--fp8-format e5m2", "--fp8-format e5m2 has too few bits"},
           {"--fp8-format hybrid --fp4-format e2m1", "--fp8-format and --fp4-format exclude each other"},
           {"--fp8-format hybrid --fp8-recipe custom", "--fp8-recipe custom takes quantizers from Python"},
           {"--fp8-format hybrid --first-last-layers-bf16", "--first-last-layers-bf16 has no meaning with"},
           {"--fp8-format hybrid --fp8-recipe tensorwise --first-last-layers-bf16", "leave none of --num-layers 2"},
           {"--fp8-format hybrid --fp8-amax-history-len 0", "--fp8-amax-history-len 0 is out of range"},
           {"--fp8-format hybrid --fp8-recipe tensorwise --ffn-hidden-size 72", "wants multiples of 16"}})
    expect_refused(pretrain("--train-iters 2 --eval-iters 0 " + flags), said);
}

}  // namespace megalith::test
