// Tests of models that are given by hub name. A local cache has one model, and each command with --load finds it.
#include <cstdlib>
#include <filesystem>

#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class Hub : public Workshop {
 protected:
  Hub() {
    const std::string model = *this / "cache/models--our-lab--tiny.model";
    fs::create_directories(model + "/refs");
    fs::create_directories(model + "/snapshots");
    spit(model + "/refs/main", "0123456789abcdef");
    fs::copy(golden("llama"), model + "/snapshots/0123456789abcdef");
    setenv("HF_HUB_CACHE", (*this / "cache").c_str(), 1);
  }
  ~Hub() override { unsetenv("HF_HUB_CACHE"); }
};

constexpr const char* kNumbers = " --tokenizer-type NullTokenizer";

}  // namespace

TEST_F(Hub, EachCommandFindsAModelByItsName) {
  const std::string lines[] = {
      "pretrain-gpt --load our-lab/tiny.model --seq-length 8 --micro-batch-size 1 --train-iters 1 --lr 1e-4 "
      "--eval-iters 0 --mock-data --no-progress" +
          std::string(kNumbers),
      "evaluate --load our-lab/tiny.model --mock-data --split 0,1,0 --seq-length 8 --micro-batch-size 1 --eval-iters "
      "1" +
          std::string(kNumbers),
      "generate --load our-lab/tiny.model --prompt 1 --tokens-to-generate 2" + std::string(kNumbers),
      "convert --load our-lab/tiny.model --to native --save " + *this / "converted",
      "inspect our-lab/tiny.model",
      "inspect --diff our-lab/tiny.model " + golden("llama"),
  };
  for (const std::string& line : lines) {
    const Ran ran = must(line);
    EXPECT_NE((ran.out + ran.err).find(" our-lab/tiny.model: read from "), std::string::npos)
        << line << ran.out << ran.err;
  }
  expect_refused("inspect our-lab/another", "fetch it by `hf download our-lab/another ");
}

}  // namespace megalith::test
