// Training in fp8 on a GPU: the same bits twice, resumed and recomputed, and close to the CPU, which decodes the same
// codes.
#include "device/make_backend.h"
#include "exec/cpu/backend.h"
#include "exec/cuda/backend.h"
#include "tests/train/small_run.h"
#include "tests/train/told_run.h"

namespace megalith {
namespace {

const std::string kLlama =
    "--save-interval 100 --hidden-size 64 --global-batch-size 4 --position-embedding-type rope --swiglu "
    "--normalization RMSNorm --disable-bias-linear --num-query-groups 2 --untie-embeddings-and-output-weights "
    "--fp8-format ";

class CudaFp8 : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "[  SKIPPED ] no GPU here";
    gpu = make_backend({"cuda", "none"});
  }
  std::unique_ptr<Backend> gpu;
};

TEST_P(CudaFp8, SameBitsTwiceAndRecomputed) {
  const std::string flags = kLlama + GetParam();
  const Told first = run(flags, *gpu), again = run(flags, *gpu);
  EXPECT_EQ(first.error, "");
  EXPECT_FALSE(first.metrics.empty());
  EXPECT_EQ(first.metrics, again.metrics);
  EXPECT_TRUE(first.checkpoint == again.checkpoint);
  // Kernel by kernel: a CUDA graph must include every cast.
  const Told profiled = run(flags + " --profile --profile-step-start 3 --profile-step-end 6", *gpu);
  EXPECT_EQ(first.metrics, profiled.metrics);
  const Told made_again = run(flags + " --recompute-granularity full", *gpu);
  EXPECT_EQ(made_again.error, "");
  EXPECT_EQ(values_of(made_again.metrics, "lm_loss"), values_of(first.metrics, "lm_loss"));
}

TEST_P(CudaFp8, LossesAreTheCpus) {
  const std::string flags = kLlama + GetParam();
  const bool is_fp4 = flags.find("fp4") != flags.npos;  // adjacent codes differ by much
  const Told cpu = run(flags, *make_cpu_backend()), there = run(flags, *gpu);
  EXPECT_EQ(there.error, "");
  for (const char* key : {"lm_loss", "grad_norm"}) {
    const std::vector<double> expected = values_of(cpu.metrics, key), found = values_of(there.metrics, key);
    ASSERT_EQ(expected.size(), found.size()) << key;
    ASSERT_FALSE(expected.empty());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(found[i] / expected[i], 1, (*key == 'g' ? 5e-2 : 1e-2) * (is_fp4 ? 4 : 1)) << key;
  }
}

// A resumed run continues with the stored scales.
TEST_P(CudaFp8, GoesOnAsIfNeverInterrupted) {
  const TempFolder folder("fp8");
  const auto train = [&](const std::string& name, const std::string& more) {
    const std::string at = (folder.path / name).string();
    const Options o =
        options_for(1, fmt::format("--train-iters 6 --save {0} --load {0} --metrics-file {0}.jsonl {1}{2} {3}", at,
                                   kLlama, GetParam(), more));
    testing::internal::CaptureStdout(), testing::internal::CaptureStderr();
    EXPECT_NO_THROW(pretrain(o, *gpu, *join(Place{})));
    testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr();
  };
  train("whole", "");
  train("cut", "--exit-interval 3"), train("cut", "");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path / "whole" / "iter_0000006")) {
    if (entry.path().extension() != ".safetensors") continue;
    EXPECT_TRUE(read_file(entry.path().string()) ==
                read_file((folder.path / "cut" / "iter_0000006" / entry.path().filename()).string()));
    ++files;
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(Recipes, CudaFp8,
                         testing::Values("hybrid --fp8-recipe tensorwise --bf16", "e4m3 --fp8-recipe tensorwise --bf16",
                                         "hybrid --bf16 --fp8-amax-history-len 4 --fp8-amax-compute-algo max",
                                         "hybrid --fp8-recipe tensorwise", "e4m3 --fp8-recipe blockwise --bf16",
                                         "e4m3 --fp8-recipe mxfp8 --bf16", "none --fp4-format e2m1 --bf16"));

}  // namespace
}  // namespace megalith
