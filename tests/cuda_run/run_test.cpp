// Runs on a GPU: the same bits every time, with CUDA graphs and without, and close to the CPU.
#include <regex>

#include "device/make_backend.h"
#include "exec/cpu/backend.h"
#include "exec/cuda/backend.h"
#include "tests/harness/wrapped_backend.h"
#include "tests/harness/wrapped_interpreter.h"
#include "tests/train/small_run.h"
#include "tests/train/told_run.h"

namespace megalith {
namespace {

class NeedsGpu : public testing::Environment {
  void SetUp() override {
    // The text by which ctest detects a skipped test; gtest prints it only for single tests.
    if (cuda_device_count() == 0) GTEST_SKIP() << "[  SKIPPED ] no GPU here";
  }
};
[[maybe_unused]] const testing::Environment* const needs_gpu = testing::AddGlobalTestEnvironment(new NeedsGpu);

class CudaRuns : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Backend> gpu = make_backend({"cuda", "none"});
};

TEST_P(CudaRuns, SameBitsTwiceAndWithoutGraphs) {
  const Told first = run(GetParam(), *gpu), again = run(GetParam(), *gpu);
  EXPECT_EQ(first.error, "");
  EXPECT_NE(first.out.find(" iteration "), std::string::npos);
  EXPECT_EQ(first.out, again.out);
  EXPECT_EQ(first.metrics, again.metrics);
  EXPECT_TRUE(first.checkpoint == again.checkpoint);
  const Told profiled = run(std::string(GetParam()) + " --profile --profile-step-start 3 --profile-step-end 6", *gpu);
  EXPECT_EQ(first.metrics, profiled.metrics);
}

// Ten steps from the same weights. CPU and GPU add in different orders. In f32 the losses differ by little more than
// its epsilon times the root of the sums' lengths. In bf16 they differ by its epsilon (2^-8) over the root of the
// number of averaged tokens.
TEST_P(CudaRuns, LossesAreTheCpus) {
  const bool bf16 = std::string(GetParam()).find("--bf16") != std::string::npos;
  const Told cpu = run(GetParam(), *make_cpu_backend()), there = run(GetParam(), *gpu);
  for (const char* key : {"lm_loss", "grad_norm"}) {
    const std::vector<double> expected = values_of(cpu.metrics, key), found = values_of(there.metrics, key);
    ASSERT_EQ(expected.size(), found.size()) << key;
    ASSERT_FALSE(expected.empty());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i] / expected[i], 1, bf16 ? 1e-2 : 1e-4) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Flags, CudaRuns,
    testing::Values("--save-interval 4 --lr-warmup-iters 3 --hidden-dropout 0.1", "--save-interval 100 --bf16",
                    "--save-interval 100 --global-batch-size 6 --eval-interval 3 --eval-iters 2",
                    "--save-interval 5 --log-params-norm --log-num-zeros-in-grad",
                    "--save-interval 100 --bf16 --position-embedding-type rope --swiglu --normalization RMSNorm "
                    "--disable-bias-linear --num-query-groups 2 --untie-embeddings-and-output-weights"));

// A GPU with less memory for copies of the saved state.
class LittleRoom final : public test::WrappedBackend {
 public:
  LittleRoom(std::unique_ptr<Backend> real, i64 percent) : WrappedBackend(std::move(real)), percent_(percent) {}
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    struct Less final : test::WrappedInterpreter {
      Less(std::unique_ptr<Interpreter> real, i64 part) : WrappedInterpreter(std::move(real)), percent(part) {}
      void copy_on_device(i64 bytes) override {
        if (percent > 0) real_->copy_on_device(bytes * percent / 100);
      }
      i64 percent;
    };
    return std::make_unique<Less>(real_->make_interpreter(plan, coord), percent_);
  }

 private:
  i64 percent_;
};

// A copy that takes longer than a step's forward and backward still has the state before the step's update.
TEST(CudaSaves, AreOfTheirIterationHoweverTheCopiesGo) {
  const std::string flags =
      "--bf16 --hidden-size 1024 --num-layers 4 --train-iters 4 --save-interval 2 --async-save --lr 0.1";
  const auto gpu = [] { return make_backend({"cuda", "none"}); };
  const Told whole = run(flags, *gpu());
  EXPECT_EQ(whole.error, "");
  EXPECT_GT(whole.checkpoint.size(), size_t{1} << 30);
  for (const i64 percent : {0, 40}) {
    const Told part = run(flags, LittleRoom(gpu(), percent));
    EXPECT_EQ(part.metrics, whole.metrics) << percent;
    EXPECT_TRUE(part.checkpoint == whole.checkpoint) << percent;
  }
}

// Loaded state is on the GPU bit for bit, in chunks of any size. If a checkpoint is damaged and there is no older
// one, nothing of it stays: the run starts fresh.
TEST(CudaLoads, RunsGoOnAsIfNeverInterrupted) {
  const std::unique_ptr<Backend> gpu = make_backend({"cuda", "none"});
  for (const char* flags : {"", "--bf16", "--bf16 --optimizer-cpu-offload --optimizer-offload-fraction 0.4"}) {
    SCOPED_TRACE(flags);
    const TempFolder folder("loads");
    const auto at = [&](const std::string& name) { return (folder.path / name).string(); };
    const auto train = [&](const std::string& name, const std::string& more) {
      const std::string often = "--save-interval 3 --non-persistent-save-interval 1 --non-persistent-ckpt-type local";
      const Options o = options_for(1, fmt::format("--train-iters 6 --hidden-size 256 --save {0} --load {0} {1} "
                                                   "--non-persistent-local-ckpt-dir {0}_copies {2} {3}",
                                                   at(name), often, flags, more));
      testing::internal::CaptureStdout();
      testing::internal::CaptureStderr();
      EXPECT_NO_THROW(pretrain(o, *gpu, *join(Place{})));
      return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
    };
    const auto expect_end_of_whole = [&] {
      int files = 0;
      for (const auto& entry : std::filesystem::directory_iterator(at("whole/iter_0000006"))) {
        if (entry.path().extension() != ".safetensors") continue;
        EXPECT_TRUE(read_file(entry.path()) == read_file(at("live/iter_0000006/") + entry.path().filename().string()));
        ++files;
      }
      EXPECT_GT(files, 0);
    };
    train("whole", "");
    train("live", "--exit-interval 3");
    std::filesystem::remove_all(at("live_copies"));
    EXPECT_NE(train("live", "").find("] at iteration 3\n"), std::string::npos);  // in the checkpoint
    expect_end_of_whole();
    std::filesystem::remove_all(at("live")), std::filesystem::remove_all(at("live_copies"));
    train("live", "--exit-interval 4");
    std::filesystem::remove_all(at("live"));
    const std::string shard = at("live_copies/rank_00000/iter_0000004/shard_00000.safetensors");
    flip(shard, 8 * (std::filesystem::file_size(shard) - 9));
    EXPECT_NE(train("live", "").find("wrong checksum; tensor "), std::string::npos);
    expect_end_of_whole();
  }
}

// The metrics without the norm of the weights.
std::string without_norm(const std::string& metrics) {
  return std::regex_replace(metrics, std::regex("\"params_norm\":[^,}]*"), "");
}

// State that goes through windows of the GPU's memory is updated by the same arithmetic. The host adds the squares of
// the weights in another order, in f64.
TEST(CudaOffload, SameBitsAsWithStateOnTheGpu) {
  const std::unique_ptr<Backend> gpu = make_backend({"cuda", "none"});
  for (const char* model : {"", " --bf16", " --bf16 --swiglu --optimizer-offload-fraction 0.4"}) {
    const std::string flags = std::string("--save-interval 5 --log-params-norm --global-batch-size 4") + model;
    const Told here = run(flags, *gpu);
    EXPECT_EQ(here.error, "");
    const std::vector<double> norms_here = values_of(here.metrics, "params_norm");
    EXPECT_FALSE(norms_here.empty());
    for (const char* overlap : {"", " --overlap-cpu-optimizer-d2h-h2d"}) {
      const Told there = run(flags + " --log-level debug --optimizer-cpu-offload" + overlap, *gpu);
      EXPECT_EQ(without_norm(there.metrics), without_norm(here.metrics)) << flags << overlap;
      const std::vector<double> norms = values_of(there.metrics, "params_norm");
      ASSERT_EQ(norms.size(), norms_here.size());
      for (size_t i = 0; i < norms.size(); ++i)
        EXPECT_NEAR(norms[i], norms_here[i], 1e-13 * norms[i]) << flags << overlap;
      EXPECT_NE(there.out.find("optimizer, on the host"), std::string::npos) << there.out;
    }
  }
}

// Recomputed values have the same bits.
TEST(CudaRecomputation, HasTheBitsOfWhatIsKept) {
  const std::unique_ptr<Backend> gpu = make_backend({"cuda", "none"});
  const std::string flags =
      "--save-interval 5 --global-batch-size 4 --num-layers 4 --bf16 --position-embedding-type rope --swiglu "
      "--normalization RMSNorm --disable-bias-linear";
  const Told kept = run(flags, *gpu);
  EXPECT_EQ(kept.error, "");
  EXPECT_FALSE(kept.metrics.empty());
  for (const char* again : {" --recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
                            " --recompute-granularity selective --recompute-modules mlp layernorm"})
    EXPECT_EQ(run(flags + again, *gpu).metrics, kept.metrics) << again;
}

// Offloaded activations have the same bits when they return.
TEST(CudaOffload, SameBitsAsWithActivationsOnTheGpu) {
  const std::unique_ptr<Backend> gpu = make_backend({"cuda", "none"});
  const std::string llama =
      " --bf16 --position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear";
  for (const std::string& model :
       {std::string(" --hidden-dropout 0.1"), llama, llama + " --norm-block-output --qk-layernorm",
        llama + " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"}) {
    const std::string flags = "--save-interval 5 --log-params-norm --global-batch-size 4 --num-layers 6" + model;
    const Told here = run(flags, *gpu);
    EXPECT_EQ(here.error, "");
    EXPECT_FALSE(here.metrics.empty());
    for (const char* modules : {"", " --offload-modules attn_norm qkv_linear core_attn attn_proj mlp_norm mlp_act"}) {
      const Told there =
          run(flags + " --log-level debug --fine-grained-activation-offloading --min-offloaded-tensor-size 0" + modules,
              *gpu);
      EXPECT_EQ(there.metrics, here.metrics) << flags << modules;
      if (*modules) {
        EXPECT_NE(there.out.find("kept activations, on the host"), std::string::npos) << there.out;
      }
    }
  }
}

}  // namespace
}  // namespace megalith
