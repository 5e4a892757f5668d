// golden-check against models made by another program, where their files are; and that it can fail.
#include <cstring>
#include <filesystem>

#include "tests/places.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

std::string fixture(const std::string& family) { return std::string(kSharedDir) + "/fixtures/hf/" + family; }

class Golden : public Workshop, public ::testing::WithParamInterface<const char*> {};

TEST_P(Golden, Agrees) {
  if (!fs::exists(fixture(GetParam()))) GTEST_SKIP() << fixture(GetParam()) << " is not there";
  const Ran ran = run_program("golden-check", {fixture(GetParam()), "--device", "cpu"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out.find("FAIL"), std::string::npos);
  for (const char* line : {"logits", "loss", "gradient ", "step 10 loss", "step 10 gradient norm"})
    EXPECT_NE(ran.out.find(std::string("pass  ") + line), std::string::npos) << line;
}

TEST_P(Golden, AgreesInBf16) {
  if (!fs::exists(fixture(GetParam()))) GTEST_SKIP() << fixture(GetParam()) << " is not there";
  const Ran ran = run_program("golden-check", {fixture(GetParam()), "--bf16", "--device", "cpu"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Families, Golden,
                         ::testing::Values("gpt2", "llama", "llama31", "mistral_swa", "qwen2", "qwen3", "gpt_neox",
                                           "bloom_alibi", "falcon"),
                         [](const auto& info) { return std::string(info.param); });

class GoldenCheck : public Workshop {};

// One weight of the last tensor moved a little: the whole must fail.
TEST_F(GoldenCheck, NoticesAChangedWeight) {
  if (!fs::exists(fixture("llama"))) GTEST_SKIP() << fixture("llama") << " is not there";
  const std::string copy = *this / "copy";
  fs::copy(fixture("llama"), copy, fs::copy_options::recursive);
  std::string weights = slurp(copy + "/model.safetensors");
  float last = 0;
  std::memcpy(&last, weights.data() + weights.size() - 4, 4);
  last += 0.05f;
  std::memcpy(weights.data() + weights.size() - 4, &last, 4);
  fs::permissions(copy, fs::perms::owner_all, fs::perm_options::add);
  fs::remove(copy + "/model.safetensors");
  spit(copy + "/model.safetensors", weights);
  const Ran ran = run_program("golden-check", {copy, "--device", "cpu"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_NE(ran.out.find("FAIL"), std::string::npos);
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
