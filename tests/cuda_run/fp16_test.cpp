// Training in fp16 on a GPU: the same bits twice and resumed, close to the CPU, and the loss scale's definition.
#include <cmath>

#include "device/make_backend.h"
#include "exec/cpu/backend.h"
#include "exec/cuda/backend.h"
#include "quant/loss_scale.h"
#include "tests/train/small_run.h"
#include "tests/train/told_run.h"

namespace megalith {
namespace {

// With these flags the scale repeatedly grows until gradients overflow.
const std::string kMoving = "--fp16 --initial-loss-scale 67108864 --loss-scale-window 2 --hysteresis 3";
const std::string kLlamaShape =
    " --position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear --num-query-groups 2 "
    "--untie-embeddings-and-output-weights";
const std::string kMixtureShape =
    " --num-experts 4 --moe-router-topk 2 --moe-aux-loss-coeff 1e-2 --position-embedding-type rope --swiglu "
    "--disable-bias-linear";

double mean_distance(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum += std::abs(a[i] - b[i]);
  return sum / double(a.size());
}

class CudaFp16 : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "[  SKIPPED ] no GPU here";
    gpu = make_backend({"cuda", "none"});
  }
  std::unique_ptr<Backend> gpu;
};

TEST_F(CudaFp16, HasTheSameBitsTwiceAndRecomputed) {
  for (const std::string& model : {std::string(" --hidden-dropout 0.1"), kLlamaShape, kMixtureShape}) {
    const std::string flags = "--save-interval 100 --global-batch-size 4 --fp16 --loss-scale 4096" + model;
    const Told first = run(flags, *gpu), again = run(flags, *gpu);
    EXPECT_EQ(first.error, "");
    EXPECT_FALSE(first.metrics.empty());
    EXPECT_EQ(first.metrics, again.metrics);
    EXPECT_TRUE(first.checkpoint == again.checkpoint);
    const Told remade = run(flags + " --recompute-granularity full", *gpu);
    EXPECT_EQ(values_of(remade.metrics, "lm_loss"), values_of(first.metrics, "lm_loss"));
  }
}

// f16 has an epsilon of 2^-11, an eighth of bf16's.
TEST_F(CudaFp16, IsNearTheCpuAndNearerToF32ThanBf16) {
  for (const std::string& model : {std::string(), kLlamaShape, kMixtureShape}) {
    const std::string flags = "--save-interval 100 --hidden-size 64 --global-batch-size 4 " + model;
    const Told cpu = run(flags + " --fp16 --loss-scale 4096", *make_cpu_backend());
    const Told half = run(flags + " --fp16 --loss-scale 4096", *gpu), wide = run(flags, *gpu),
               brain = run(flags + " --bf16", *gpu);
    EXPECT_EQ(half.error, "");
    for (const char* key : {"lm_loss", "grad_norm"}) {
      const std::vector<double> expected = values_of(cpu.metrics, key), found = values_of(half.metrics, key);
      ASSERT_EQ(expected.size(), found.size()) << key;
      ASSERT_FALSE(expected.empty());
      for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i] / expected[i], 1, 2e-3) << key << model;
    }
    const auto losses = [](const Told& t) { return values_of(t.metrics, "lm_loss"); };
    EXPECT_GT(mean_distance(losses(half), losses(wide)), 0);
    EXPECT_LT(mean_distance(losses(half), losses(wide)), 0.5 * mean_distance(losses(brain), losses(wide))) << model;
  }
}

// The device computes each step's scale. A run that is cut in the middle of a hysteresis ends with the same bits.
TEST_F(CudaFp16, ScalesByTheDefinitionAndResumes) {
  const TempFolder folder("fp16");
  const auto at = [&](const std::string& name) { return (folder.path / name).string(); };
  const auto train = [&](const std::string& name, const std::string& more) {
    const Options o = options_for(
        1, fmt::format("--train-iters 24 --lr-decay-iters 24 --save {0} --load {0} --metrics-file {0}.jsonl "
                       "--global-batch-size 4 --save-interval 100 --log-interval 1 {1} {2}",
                       at(name), kMoving, more));
    testing::internal::CaptureStdout(), testing::internal::CaptureStderr();
    EXPECT_NO_THROW(pretrain(o, *gpu, *join(Place{})));
    testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr();
  };
  train("whole", "");
  const std::string metrics = read_file(at("whole.jsonl"));
  const std::vector<double> skipped = values_of(metrics, "skipped_iterations"),
                            scales = values_of(metrics, "loss_scale");
  ASSERT_EQ(skipped.size(), 24u);
  ASSERT_EQ(scales.size(), 24u);
  const quant::LossScaleRule rule{.initial = 67108864, .least = 1, .window = 2, .hysteresis = 3};
  quant::LossScale definition(rule);
  for (size_t i = 0; i < 24; ++i) {
    definition.update(rule, skipped[i] > 0);
    EXPECT_EQ(scales[i], definition.scale) << i;
  }
  EXPECT_GE(std::ranges::count(skipped, 1), 2);
  const auto cut = std::ranges::find(skipped, 1) - skipped.begin() + 1;
  ASSERT_LT(cut, 20);
  train("cut", fmt::format("--exit-interval {}", cut)), train("cut", "");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path / "whole" / "iter_0000024")) {
    if (entry.path().extension() != ".safetensors") continue;
    EXPECT_TRUE(read_file(entry.path().string()) ==
                read_file(at("cut/iter_0000024/") + entry.path().filename().string()));
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace megalith
