// Tests golden-check with models of other programs. Changed weights and settings must make it fail.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

struct GoldenCase {
  std::string name, folder;
};
void PrintTo(const GoldenCase& c, std::ostream* out) { *out << c.folder; }

// These cases are in the repository. A missing one is a failure.
std::vector<GoldenCase> tree_cases() {
  std::vector<GoldenCase> cases;
  for (const std::string name : kGoldenModels) cases.push_back({name, golden(name)});
  return cases;
}
std::vector<GoldenCase> shared_cases() {
  std::vector<GoldenCase> cases;
  for (const std::string name : kGoldenModels)
    if (fs::exists(shared_model(name))) cases.push_back({name, shared_model(name)});
  return cases;
}

class Golden : public Workshop, public ::testing::WithParamInterface<GoldenCase> {};

TEST_P(Golden, Agrees) {
  const Ran ran = run_program("golden-check", {GetParam().folder, "--device", "cpu"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out.find("FAIL"), std::string::npos);
  for (const char* line : {"logits", "loss", "gradient ", "step 10 loss", "step 10 gradient norm"})
    EXPECT_NE(ran.out.find(std::string("pass  ") + line), std::string::npos) << line;
}

void agrees_in(const GoldenCase& golden, const std::string& precision) {
  const Ran ran = run_program("golden-check", {golden.folder, precision, "--device", "cpu"});
  if (!chooses_experts(golden.name)) {
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    return;
  }
  // Rounding selects another expert for a few tokens, so one step may be off by more than its bound. The bound is at
  // least four standard deviations of a step (hf_form.cpp). The root mean square of the steps must stay below two: ten
  // independent errors exceed that once in 60,000 cases.
  std::istringstream lines(ran.out);
  int held = 0;
  double squares = 0, error = 0, bound = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(" error ");
    if (line.find(" loss  ") == std::string::npos || at == std::string::npos) continue;
    ASSERT_EQ(std::sscanf(line.c_str() + at, " error %lf bound %lf", &error, &bound), 2) << line;
    if (held++ < 2) EXPECT_TRUE(line.starts_with("pass")) << line;  // before and in the first step
    if (held > 1) squares += error / bound * error / bound;
  }
  EXPECT_LT(std::sqrt(squares / 10), 0.5) << ran.out;
  EXPECT_EQ(held, 11) << ran.out << ran.err;
}

TEST_P(Golden, AgreesInBf16) { agrees_in(GetParam(), "--bf16"); }

// There is no loss scale here, so small gradients lose bits. f16's bounds are too narrow for that, so norms are not
// compared. For a mixture only the first losses are compared. One token with another expert changes a loss by more than
// the bounds.
TEST_P(Golden, AgreesInFp16) {
  const Ran ran = run_program("golden-check", {GetParam().folder, "--fp16", "--device", "cpu"});
  if (chooses_experts(GetParam().name)) {
    for (const char* line : {"pass  loss  ", "pass  step 1 loss  "})
      EXPECT_NE(ran.out.find(line), ran.out.npos) << line;
    return;
  }
  std::istringstream lines(ran.out);
  int held = 0;
  for (std::string line; std::getline(lines, line);) {
    held += line.starts_with("pass");
    if (line.starts_with("FAIL")) EXPECT_NE(line.find("gradient norm"), std::string::npos) << line;
  }
  EXPECT_GT(held, 30) << ran.out << ran.err;
}

// scripts/test counts the passed tests of Golden.Agrees.
INSTANTIATE_TEST_SUITE_P(Tree, Golden, ::testing::ValuesIn(tree_cases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Shared, Golden, ::testing::ValuesIn(shared_cases()),
                         [](const auto& info) { return info.param.name; });

std::vector<GoldenCase> megatron_cases() {
  std::vector<GoldenCase> cases;
  for (const std::string name : kGoldenMegatron) cases.push_back({name, golden(name)});
  return cases;
}
std::vector<GoldenCase> shared_megatron_cases() {
  std::vector<GoldenCase> cases;
  for (const std::string& name : kSharedMegatron)
    if (fs::exists(shared_megatron(name))) cases.push_back({name, shared_megatron(name)});
  return cases;
}

class GoldenMegatron : public Workshop, public ::testing::WithParamInterface<GoldenCase> {};

TEST_P(GoldenMegatron, Agrees) {
  const Ran ran = run_program("golden-check", {GetParam().folder, "--device", "cpu"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out.find("FAIL"), std::string::npos);
  for (const char* line :
       {"logits", "micro-batch 1 loss", "gradient decoder.", "gradient norm", "logits of the evaluation", "step 3 loss",
        "step 3 gradient norm", "after three steps decoder.", "after three steps squares of decoder."})
    EXPECT_NE(ran.out.find(std::string("pass  ") + line), std::string::npos) << line;
}

INSTANTIATE_TEST_SUITE_P(Tree, GoldenMegatron, ::testing::ValuesIn(megatron_cases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Shared, GoldenMegatron, ::testing::ValuesIn(shared_megatron_cases()),
                         [](const auto& info) { return info.param.name; });

std::vector<GoldenCase> tree_encoders() {
  std::vector<GoldenCase> cases;
  for (const std::string name : kGoldenBert) cases.push_back({name, golden(name)});
  return cases;
}
std::vector<GoldenCase> shared_encoders() {
  std::vector<GoldenCase> cases;
  const auto add = [&](const std::string& name, const std::string& folder) {
    if (fs::exists(folder)) cases.push_back({name, folder});
  };
  for (const std::string name : kSharedBert) add("hf_" + name, shared_model(name));
  for (const std::string name : kSharedEncoders) add("megatron_" + name, shared_megatron(name));
  return cases;
}

class GoldenEncoder : public Workshop, public ::testing::WithParamInterface<GoldenCase> {};

TEST_P(GoldenEncoder, Agrees) {
  const Ran ran = run_program("golden-check", {GetParam().folder, "--device", "cpu"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out.find("FAIL"), std::string::npos);
  const bool steps = ran.out.find("the text contains the padding token") == std::string::npos;
  EXPECT_EQ(steps, GetParam().name != "hf_bert" && GetParam().name != "hf_megatron_bert");
  for (const char* line : {"logits", "loss", "gradient ", "step 10 ", "step 10 gradient norm"})
    if (steps || !std::string_view(line).starts_with("step"))
      EXPECT_NE(ran.out.find(std::string("pass  ") + line), std::string::npos) << line;
}

INSTANTIATE_TEST_SUITE_P(Tree, GoldenEncoder, ::testing::ValuesIn(tree_encoders()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Shared, GoldenEncoder, ::testing::ValuesIn(shared_encoders()),
                         [](const auto& info) { return info.param.name; });

class GoldenCheck : public Workshop {};

// A small change of one weight in the last tensor must fail the check.
TEST_F(GoldenCheck, NoticesAChangedWeight) {
  const std::string copy = *this / "copy";
  fs::copy(golden("llama"), copy, fs::copy_options::recursive);
  std::string weights = slurp(copy + "/model.safetensors");
  float last = 0;
  std::memcpy(&last, weights.data() + weights.size() - 4, 4);
  last += 0.05f;
  std::memcpy(weights.data() + weights.size() - 4, &last, 4);
  spit(copy + "/model.safetensors", weights);
  const Ran ran = run_program("golden-check", {copy, "--device", "cpu"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_NE(ran.out.find("FAIL"), std::string::npos);
}

// Each family's case has a visible effect of the family's special parts. Without any one of them the logits are wrong.
TEST_F(GoldenCheck, NoticesAChangedSetting) {
  struct Change {
    const char *family, *pointer;
    nlohmann::json value;
  };
  const Change changes[] = {{"gpt2", "/activation_function", "gelu"},
                            {"llama", "/rope_parameters/rope_theta", 9000.0},
                            {"llama", "/rms_norm_eps", 1e-3},
                            {"llama31", "/rope_parameters/factor", 4.0},
                            {"llama31", "/rope_parameters/original_max_position_embeddings", 320},
                            {"mistral_swa", "/sliding_window", 7},
                            {"mistral_swa", "/sliding_window", nullptr},
                            {"qwen2", "/rope_parameters/rope_theta", 5e5},
                            {"qwen3", "/rms_norm_eps", 1e-3},
                            {"gpt_neox", "/use_parallel_residual", false},
                            {"gpt_neox", "/rope_parameters/partial_rotary_factor", 0.75},
                            {"bloom_alibi", "/layer_norm_epsilon", 1e-3},
                            {"falcon", "/rope_parameters/rope_theta", 9000.0},
                            {"bert", "/layer_norm_eps", 1e-3},
                            {"megatron_bert", "/layer_norm_eps", 1e-3}};
  for (const auto& [family, pointer, value] : changes) {
    const std::string copy = *this / "copy";
    fs::remove_all(copy);
    fs::copy(golden(family), copy, fs::copy_options::recursive);
    auto config = nlohmann::json::parse(slurp(copy + "/config.json"));
    config.at(nlohmann::json::json_pointer(pointer)) = value;
    spit(copy + "/config.json", config.dump());
    const Ran ran = run_program("golden-check", {copy, "--device", "cpu"});
    EXPECT_EQ(ran.exit_code, 1) << family << pointer << ran.err;
    EXPECT_NE(ran.out.find("FAIL  logits"), std::string::npos) << family << pointer << ran.out;
  }
}

TEST_F(GoldenCheck, NoticesAChangedMegatronFlag) {
  struct Change {
    const char *name, *flag;
    nlohmann::json value;
    const char* wrong;
  };
  const Change changes[] = {{"megatron_llama", "rotary-base", 9000, "logits"},
                            {"megatron_llama", "norm-epsilon", 1e-3, "logits"},
                            {"megatron_gpt", "no-bias-gelu-fusion", false, "logits"},
                            {"megatron_mtp", "mtp-loss-scaling-factor", 0.2, "gradient mtp.layers.1."}};
  for (const auto& [name, flag, value, wrong] : changes) {
    const std::string copy = *this / "copy";
    fs::remove_all(copy);
    fs::copy(golden(name), copy, fs::copy_options::recursive);
    auto config = nlohmann::json::parse(slurp(copy + "/config.json"));
    config["flags"].at(flag) = value;
    spit(copy + "/config.json", config.dump());
    const Ran ran = run_program("golden-check", {copy, "--device", "cpu"});
    EXPECT_EQ(ran.exit_code, 1) << name << flag << ran.err;
    EXPECT_NE(ran.out.find(std::string("FAIL  ") + wrong), std::string::npos) << name << flag << ran.out;
  }
}

// The check names a flag that is not implemented. It also names a tensor in the file that our model does not compute.
TEST_F(GoldenCheck, NamesWhatMegatronHasBeyondUs) {
  const std::string copy = *this / "copy";
  fs::copy(golden("megatron_gpt"), copy, fs::copy_options::recursive);
  auto config = nlohmann::json::parse(slurp(copy + "/config.json"));
  config["flags"]["qk-clip"] = true;
  spit(copy + "/config.json", config.dump());
  const Ran refused = run_program("golden-check", {copy, "--device", "cpu"});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_NE(refused.err.find("--qk-clip"), std::string::npos) << refused.err;

  spit(copy + "/config.json", slurp(golden("megatron_gpt") + "/config.json"));
  std::string file = slurp(copy + "/golden.safetensors");
  const std::string from = "grad_norm", to = "grad_more";
  file.replace(file.find(from), from.size(), to);
  spit(copy + "/golden.safetensors", file);
  const Ran lacking = run_program("golden-check", {copy, "--device", "cpu"});
  EXPECT_EQ(lacking.exit_code, 1) << lacking.err;
  EXPECT_NE(lacking.out.find("FAIL  grad_more"), std::string::npos) << lacking.out;
}

TEST_F(GoldenCheck, GarbageIsAnErrorOfItsOwn) {
  spit(*this / "config.json", "{}");
  spit(*this / "golden.safetensors", "nonsense");
  const std::vector<std::vector<std::string>> calls = {{}, {"a", "b"}, {"--help"}, {*this / "nothing"}, {*this / ""}};
  for (const auto& words : calls) {
    const Ran ran = run_program("golden-check", words);
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    EXPECT_EQ(ran.err.find("golden-check: "), 0u) << ran.err;
  }
}

}  // namespace
}  // namespace megalith::test
