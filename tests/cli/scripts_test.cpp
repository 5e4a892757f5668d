// Scripts in the style of public repositories. scripts/try-script runs them. The first line of each has the expected
// result: "plans", or "refused" with words that the answer must contain.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/places.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

struct Tried {
  int exit_code;
  std::string text;
};

Tried try_script(const fs::path& script, const std::string& more, const std::string& variables = {}) {
  const std::string line = variables + " OMP_NUM_THREADS=1 " + kSourceDir + "/scripts/try-script -m " + kBinaryDir +
                           "/bin/megalith " + script.string() + " " + more + " 2>&1";
  std::FILE* pipe = popen(line.c_str(), "r");
  std::string text;
  for (char part[4096]; const size_t n = fread(part, 1, sizeof part, pipe);) text.append(part, n);
  return {WEXITSTATUS(pclose(pipe)), text};
}

class Scripts : public Workshop {};

TEST_F(Scripts, PlanOrAreAnsweredOnce) {
  int n = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(kSourceDir) / "tests/cli/scripts")) {
    SCOPED_TRACE(entry.path().filename());
    std::ifstream file(entry.path());
    std::string hash, expected;
    file >> hash >> expected;
    std::string wanted;
    std::getline(file, wanted);
    const std::string short_run =
        expected == "plans" && entry.path().filename() != "smoke-mock.sh"
            ? " --train-iters 10 --lr-warmup-iters 0 --lr-warmup-fraction 0 --data-path " + data()
            : "";
    const Tried tried = try_script(entry.path(), "--dry-run --device cpu" + short_run);
    ++n;
    if (expected == "plans") {
      EXPECT_EQ(tried.exit_code, 0) << tried.text;
      continue;
    }
    EXPECT_EQ(expected, "refused:");
    EXPECT_EQ(tried.exit_code, 1) << tried.text;
    std::istringstream words(wanted);
    for (std::string word; words >> word;)
      EXPECT_NE(tried.text.find(word), std::string::npos) << word << "\n" << tried.text;
  }
  EXPECT_GE(n, 13);
}

// The last line of the answer is a command line in shell syntax.
std::string line_of(const std::string& text) {
  const size_t at = text.rfind("\nmegalith pretrain-gpt ");
  if (at == std::string::npos) return {};
  return text.substr(at + 10, text.find('\n', at + 1) - at - 10);
}

TEST_F(Scripts, TheLineThatIsLeftPlans) {
  const fs::path script = fs::path(kSourceDir) / "tests/cli/scripts/gpt-6.7b-deepspeed.sh";
  const std::string line = line_of(try_script(script, "--dry-run --device cpu --data-path " + data()).text);
  ASSERT_NE(line, "");
  const fs::path again = fs::temp_directory_path() / fmt::format("megalith-line-{}.sh", getpid());
  std::ofstream(again) << "torchrun pretrain_gpt.py" << line.substr(std::string(" pretrain-gpt").size() - 1) << "\n";
  const Tried tried = try_script(again, "--device cpu");
  EXPECT_EQ(tried.exit_code, 0) << line << "\n" << tried.text;
  EXPECT_NE(line.find("--use-distributed-optimizer=true"), std::string::npos) << line;
  fs::remove(again);
}

// Appends small sizes, a small corpus and one rank to each script. Then every script of a dense model must run.
TEST_F(Scripts, RunAtSmallSizes) {
  const std::string small =
      "--num-layers 4 --hidden-size 64 --ffn-hidden-size 96 --num-attention-heads 4 --num-query-groups 4 --kv-channels "
      "16 "
      "--seq-length 32 --max-position-embeddings 32 --micro-batch-size 1 --global-batch-size 2 --train-iters 2 "
      "--lr-decay-iters 2 --lr-warmup-iters 0 --lr-warmup-fraction 0 --tensor-model-parallel-size 1 "
      "--pipeline-model-parallel-size 1 --context-parallel-size 1 --eval-iters 1 --split 90,10,0 --data-cache-path " +
      *this / "cache --tensorboard-dir " +
      *this /
          "tb --device cpu --log-interval 1 --tokenizer-type ByteTokenizer "
          "--vocab-size 257 --padded-vocab-size 320 --make-vocab-size-divisible-by 128 --vocab-file " +
      data() + ".idx --merge-file " + data() + ".idx --data-path " + data();
  for (const char* name :
       {"gpt2-345m-2x", "llama2-7b-rope-pairs", "llama3.1-8b-0.12", "qwen2.5-7b", "mistral-window"}) {
    SCOPED_TRACE(name);
    const fs::path script = fs::path(kSourceDir) / "tests/cli/scripts" / (std::string(name) + ".sh");
    const std::string place = *this / name;
    const Tried tried = try_script(script, small + " --save " + place + " --load " + place + " --save-interval 100");
    EXPECT_EQ(tried.exit_code, 0) << tried.text;
    EXPECT_NE(tried.text.find("lm loss"), std::string::npos) << tried.text;
  }
  const Tried mock =
      try_script(fs::path(kSourceDir) / "tests/cli/scripts/smoke-mock.sh", "--device cpu --log-interval 1");
  EXPECT_EQ(mock.exit_code, 0) << mock.text;
}

}  // namespace
}  // namespace megalith::test
