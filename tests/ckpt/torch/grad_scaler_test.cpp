// fp16's loss scale as Megatron's grad_scaler: PyTorch reads what we write, and we read what it writes.
#include "ckpt/torch/grad_scaler.h"

#include <nlohmann/json.hpp>

#include "ckpt/any_checkpoint.h"
#include "ckpt/torch/megatron_common.h"
#include "ckpt/torch/torch_zip_writer.h"
#include "tests/ckpt/small_models.h"
#include "tests/ckpt/torch/python.h"

namespace megalith {
namespace {

constexpr const char* kState =
    R"({"optimizer_steps": 9, "loss_scale": {"scale": 4294967296.0, "growth_tracker": 700, "hysteresis_tracker": -3}})";

// common.pt of a small model with this state.
std::string common_of(const TempDir& dir, const std::string& state) {
  const ModelConfig model = parse_hf_config(kSmallLlama, "small model").model;
  const Manifest manifest{.iteration = 3, .state_json = state};
  const MegatronState common{manifest, model, 5, true, DType::f16};
  spit(dir / "common.pt", torch_archive(pickle_common(common), "common", common_storage(common)));
  return dir / "common.pt";
}

TEST(GradScaler, goes_there_and_back) {
  const TempDir dir;
  const ReadFile archive(common_of(dir, kState));
  const TorchFile file(FileRange(archive), "common.pt");
  Manifest manifest;
  take_grad_scaler(file.root().find("optimizer"), file, manifest);
  EXPECT_EQ(nlohmann::json::parse(manifest.state_json)["loss_scale"], nlohmann::json::parse(kState)["loss_scale"]);
}

TEST(GradScaler, is_not_there_without_a_loss_scale) {
  const TempDir dir;
  const std::string bytes = slurp(common_of(dir, R"({"optimizer_steps": 9})"));
  EXPECT_EQ(bytes.find("grad_scaler"), std::string::npos);
  EXPECT_EQ(bytes.find("data/0"), std::string::npos);
}

TEST(GradScaler, is_read_by_pytorch) {
  if (!python_has("torch")) GTEST_SKIP() << python() << " has no torch";
  const TempDir dir;
  const std::string log = dir / "log";
  ASSERT_EQ(run_python("read_scaler.py", {common_of(dir, kState)}, log), "");
  EXPECT_EQ(slurp(log), "4294967296.0 700 -3\n");
}

TEST(GradScaler, of_pytorch_is_read) {
  if (!python_has("torch, numpy, safetensors")) GTEST_SKIP() << python() << " has no torch, numpy and safetensors";
  for (const char* kind : {"float16", "distributed"}) {
    const TempDir dir;
    ASSERT_EQ(run_python("write_megatron.py", {fixture("llama"), dir / "torch", "1,1,1", kind}, dir / "log"), "");
    const AnyCheckpoint c = open_any_checkpoint(dir / "torch");
    const auto state = nlohmann::json::parse(c.manifest.state_json);
    EXPECT_EQ(state["loss_scale"],
              nlohmann::json::parse(R"({"scale": 65536.0, "growth_tracker": 7, "hysteresis_tracker": 1})"))
        << kind;
  }
}

}  // namespace
}  // namespace megalith
