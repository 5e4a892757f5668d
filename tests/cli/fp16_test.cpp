// Tests of training in fp16: losses compared with f32 and bf16, and the loss scale across saves and on several ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quant/loss_scale.h"
#include "workshop.h"

namespace megalith::test {
namespace {

// With these flags the scale repeatedly grows until gradients overflow.
constexpr const char* kMoving = "--fp16 --initial-loss-scale 67108864 --loss-scale-window 2 --hysteresis 3";
constexpr const char* kMixture =
    "--num-experts 4 --moe-router-topk 2 --moe-aux-loss-coeff 1e-2 --moe-z-loss-coeff 1e-3 --mtp-num-layers 1 "
    "--position-embedding-type rope --swiglu --disable-bias-linear";

class Fp16 : public Workshop {
 protected:
  std::string line(const std::string& dir, const std::string& more) {
    return pretrain(
        fmt::format("--save-interval 100 --save {0} --load {0} --metrics-file {0}.jsonl --lr-decay-iters 24 "
                    "--train-iters 24 --global-batch-size 4 --log-interval 1 --weight-decay 0.1 --seed 5 {1}",
                    *this / dir, more));
  }
  std::map<std::string, std::string> told(const std::string& dir) { return digits(*this / (dir + ".jsonl")); }
  std::vector<double> column(const std::string& dir, const std::string& key) {
    const auto all = told(dir);
    std::vector<double> out;
    for (int i = 1; all.contains(fmt::format("{} {}", i, key)); ++i)
      out.push_back(std::atof(all.at(fmt::format("{} {}", i, key)).c_str()));  // "null", as in skipped steps, becomes 0
    return out;
  }
  void expect_same_tensors(const std::string& a, const std::string& b) {
    const Ran diff = megalith("inspect --diff " + *this / a + " " + *this / b);
    EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
  }
};

double mean_distance(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum += std::abs(a[i] - b[i]);
  return sum / double(a.size());
}

// f16 has three more mantissa bits than bf16.
TEST_F(Fp16, TrainsAsF32AndNearerToItThanBf16) {
  for (const std::string model : {"", kMixture}) {
    const auto losses = [&](const std::string& precision) {
      const std::string dir = "in" + precision.substr(0, 6) + (model.empty() ? "" : "_mixture");
      must(line(dir, precision + " " + model));
      return column(dir, "lm_loss");
    };
    const auto wide = losses(""), brain = losses("--bf16"), half = losses("--fp16 --loss-scale 4096");
    ASSERT_EQ(half.size(), 24);
    ASSERT_GT(*std::ranges::min_element(half), 0) << "a step overflowed";
    EXPECT_LT(half.back(), half.front() - 0.5);
    EXPECT_GT(mean_distance(half, wide), 0);
    EXPECT_LT(mean_distance(half, wide), 0.5 * mean_distance(brain, wide)) << model;
  }
}

// bf16 has the exponent range of f32. So a power of two as factor of the loss, its other terms and all gradients rounds
// nothing.
TEST_F(Fp16, APowerOfTwoAsLossScaleChangesNoBitOfABf16Run) {
  const std::string model = std::string("--bf16 --clip-grad 0.5 ") + kMixture;
  must(line("plain", model)), must(line("scaled", model + " --loss-scale 1024"));
  for (const char* key : {"lm_loss", "grad_norm", "mtp_1_loss", "load_balancing_loss", "z_loss"})
    EXPECT_EQ(column("plain", key), column("scaled", key)) << key;
  EXPECT_EQ(column("plain", "mtp_1_loss").size(), 24);
  expect_same_tensors("plain/iter_0000024", "scaled/iter_0000024");
  EXPECT_EQ(column("scaled", "loss_scale"), std::vector<double>(24, 1024));
}

// The run is cut after each of its first overflows, when the hysteresis is partly used.
TEST_F(Fp16, ResumesToTheSameBitsInTheMiddleOfAHysteresis) {
  for (const std::string format : {"native", "torch_dist"}) {
    const std::string flags = fmt::format("{} --ckpt-format {}", kMoving, format);
    must(line("whole_" + format, flags));
    const auto skipped = column("whole_" + format, "skipped_iterations");
    ASSERT_EQ(skipped.size(), 24);
    const size_t cut = size_t(std::ranges::find(skipped, 1) - skipped.begin()) + 1;
    ASSERT_LT(cut, 20u);
    const std::string dir = "cut_" + format;
    must(line(dir, fmt::format("{} --exit-interval {}", flags, cut)));
    must(line(dir, flags));
    EXPECT_EQ(told("whole_" + format), told(dir));
    expect_same_tensors("whole_" + format + "/iter_0000024", dir + "/iter_0000024");
  }
}

TEST_F(Fp16, GoesOnFromAndToOtherPrecisions) {
  const char* const kWays[] = {"--fp16", "--bf16", "--fp16", "", "--fp16 --loss-scale 1024", kMoving};
  int at = 4;
  for (const char* way : kWays) {
    must(line("mixed", fmt::format("{} --initial-loss-scale 32768 --train-iters {} --min-loss-scale 2", way, at)));
    const auto scales = column("mixed", "loss_scale");
    ASSERT_EQ(scales.size(), size_t(at));
    EXPECT_EQ(scales.back() == 1, std::string(way).find("fp16") == std::string::npos) << way;
    at += 4;
  }
}

// All ranks have the same loss scale in every step. Ranks without overflow skip the step too.
TEST_F(Fp16, RanksSkipTheSameSteps) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  must(line("one", kMoving));
  const auto skipped = column("one", "skipped_iterations");
  EXPECT_GE(std::ranges::count(skipped, 1), 2);
  for (const auto& [ranks, layout] : {std::pair(4, "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"),
                                      {2, "--context-parallel-size 2"},
                                      {2, "--use-distributed-optimizer"}}) {
    std::string dir = layout;
    std::ranges::replace(dir, ' ', '_');
    const Ran ran = megalith(line(dir, fmt::format("{} {}", kMoving, layout)), {.ranks = ranks});
    ASSERT_TRUE(ran.ok()) << ran.err;
    EXPECT_EQ(column(dir, "skipped_iterations"), skipped) << layout;
    EXPECT_EQ(column(dir, "loss_scale"), column("one", "loss_scale")) << layout;
    EXPECT_LT(mean_distance(column(dir, "lm_loss"), column("one", "lm_loss")), 2e-3) << layout;
  }
}

// A run on four ranks is cut in the middle of a hysteresis and resumes to the same bits. The scale of each step follows
// the definition.
TEST_F(Fp16, FourRanksResumeToTheSameBits) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const std::string flags = std::string(kMoving) + " --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2";
  const auto on_four = [&](const std::string& dir, const std::string& more) {
    const Ran ran = megalith(line(dir, flags + more), {.ranks = 4});
    ASSERT_TRUE(ran.ok()) << ran.err;
  };
  on_four("whole", "");
  const auto skipped = column("whole", "skipped_iterations"), scales = column("whole", "loss_scale");
  ASSERT_EQ(scales.size(), 24u);
  const quant::LossScaleRule rule{.initial = 67108864, .least = 1, .window = 2, .hysteresis = 3};
  quant::LossScale definition(rule);
  for (size_t i = 0; i < 24; ++i) {
    definition.update(rule, skipped[i] > 0);
    EXPECT_EQ(scales[i], definition.scale) << i;
  }
  EXPECT_GE(std::ranges::count(skipped, 1), 2);
  const size_t cut = size_t(std::ranges::find(skipped, 1) - skipped.begin()) + 1;
  on_four("cut", fmt::format(" --exit-interval {}", cut)), on_four("cut", "");
  EXPECT_EQ(told("whole"), told("cut"));
  expect_same_tensors("whole/iter_0000024", "cut/iter_0000024");
}

// The plan differs from bf16's in the main weights alone: 4 bytes per parameter, and 2 in bf16. Leaves are aligned.
TEST_F(Fp16, IsPlannedForAGpuAsBf16) {
  const std::string gpu = "--train-iters 3 --dry-run --device h100-sxm ";
  const std::string half = must(pretrain(gpu + "--fp16")).out, bf16 = must(pretrain(gpu + "--bf16 --loss-scale 8")).out;
  const auto more = [&](const char* row) { return last_number(half, row) - last_number(bf16, row); };
  EXPECT_GT(more("\n  main parameter "), 0.45 * last_number(half, "\n  main parameter "));
  EXPECT_EQ(more("\n  arena "), more("\n  main parameter "));
}

TEST_F(Fp16, IsRefusedInOneLine) {
  expect_refused(pretrain("--fp16 --bf16"), "--fp16 and --bf16 contradict each other: give one");
  expect_refused(pretrain("--fp16 --loss-scale -4"), "--loss-scale -4 is no scale: give a positive number, or 0");
  expect_refused(pretrain("--fp16 --loss-scale-window 0"), "--loss-scale-window 0: want 1 to 2147483647 steps");
  expect_refused(pretrain("--fp16 --hysteresis 0"), "--hysteresis 0: want 1 to 2147483647 steps");
  expect_refused(pretrain("--fp16 --min-loss-scale 0"), "--min-loss-scale 0 must be a positive number");
  expect_refused(pretrain("--fp16 --initial-loss-scale 1e39"), "--initial-loss-scale 1e+39 must be a positive number");
  expect_refused(pretrain("--fp16 --initial-loss-scale 2 --min-loss-scale 4"), "--min-loss-scale 4");
}

}  // namespace
}  // namespace megalith::test
