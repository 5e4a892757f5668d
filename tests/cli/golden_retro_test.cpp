// Tests golden-check with RETRO models: one written after the paper, and Megatron Core's.
#include <filesystem>

#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

struct RetroCase {
  std::string name, folder;
};
void PrintTo(const RetroCase& c, std::ostream* out) { *out << c.folder; }

// These cases are in the repository. A missing one is a failure.
std::vector<RetroCase> tree_retros() { return {{"retro", golden("retro")}}; }

std::vector<RetroCase> shared_retros() {
  std::vector<RetroCase> cases;
  for (const char* name : {"retro", "retro_no_final_norm"})
    if (fs::exists(shared_megatron(name))) cases.push_back({name, shared_megatron(name)});
  return cases;
}

class GoldenRetro : public Workshop, public ::testing::WithParamInterface<RetroCase> {};

TEST_P(GoldenRetro, Agrees) {
  const Ran ran = run_program("golden-check", {GetParam().folder, "--device", "cpu"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out.find("FAIL"), std::string::npos);
  for (const char* line :
       {"logits", "losses of tokens", "loss", "gradient decoder.layers.5.cross_attention.encoder.layers.0.",
        "gradient decoder.layers.5.cross_attention.attn.linear_kv.weight", "step 10 loss", "step 10 gradient norm"})
    EXPECT_NE(ran.out.find(std::string("pass  ") + line), std::string::npos) << line;
}

INSTANTIATE_TEST_SUITE_P(Tree, GoldenRetro, ::testing::ValuesIn(tree_retros()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Shared, GoldenRetro, ::testing::ValuesIn(shared_retros()),
                         [](const auto& info) { return info.param.name; });

class GoldenRetroCheck : public Workshop {};

TEST_F(GoldenRetroCheck, NoticesAChangedSetting) {
  const std::string copy = *this / "copy";
  fs::copy(golden("retro"), copy, fs::copy_options::recursive);
  std::string config = slurp(copy + "/config.json");
  const std::string heads = "\"--num-attention-heads\": 2";
  const size_t at = config.find(heads);
  ASSERT_NE(at, std::string::npos);
  spit(copy + "/config.json", config.replace(at, heads.size(), "\"--num-attention-heads\": 4"));
  EXPECT_EQ(run_program("golden-check", {copy, "--device", "cpu"}).exit_code, 1);
}

}  // namespace
}  // namespace megalith::test
