// Tests of the help on flags: --help shows each command's own flags, the manual shows all, and the shell completes
// them.
#include <algorithm>
#include <sstream>

#include "workshop.h"

namespace megalith::test {
namespace {

// The flags in --help, in order.
std::vector<std::string> flags_in_help(const std::string& command) {
  std::vector<std::string> out;
  std::istringstream lines(megalith(command + " --help").out);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  --")) out.push_back(line.substr(2, line.find(' ', 3) - 2));
  return out;
}

bool is_in(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

bool has(const std::string& program) { return std::system(("command -v " + program + " > /dev/null").c_str()) == 0; }

class Help : public Workshop {
 protected:
  // bash's completions of the last word of this line.
  std::vector<std::string> offered(const std::string& words) {
    const std::vector<std::string> all = words_of(words);
    spit(*this / "ask",
         "source '" + *this / "bash" + "'\nCOMP_WORDS=(" + words + (words.ends_with(' ') ? "''" : "") +
             ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_megalith\nprintf '%s\\n' \"${COMPREPLY[@]}\" > '" +
             *this / "told" + "'\n");
    EXPECT_EQ(std::system(("bash '" + *this / "ask" + "'").c_str()), 0) << words;
    std::vector<std::string> out;
    std::istringstream lines(slurp(*this / "told"));
    for (std::string line; std::getline(lines, line);) out.push_back(line);
    return out;
  }
};

TEST_F(Help, OfEvaluateHasItsOwnFlagsAlone) {
  const std::vector<std::string> flags = flags_in_help("evaluate");
  for (const char* own : {"--load", "--data-path", "--split", "--eval-iters", "--tokenizer-type", "--sft", "--bf16"})
    EXPECT_TRUE(is_in(flags, own)) << own;
  for (const char* other : {"--lr", "--num-layers", "--save", "--train-iters", "--wandb-project", "--optimizer",
                            "--tensor-model-parallel-size", "--recompute-granularity"})
    EXPECT_FALSE(is_in(flags, other)) << other;
  EXPECT_LT(flags.size(), flags_in_help("pretrain-gpt").size() / 3);
}

TEST_F(Help, BashCompletesCommandsFlagsChoicesAndFiles) {
  spit(*this / "bash", megalith("completion bash").out);
  EXPECT_EQ(offered("megalith pretrain-g"), std::vector<std::string>{"pretrain-gpt"});
  EXPECT_TRUE(is_in(offered("megalith "), "manual"));
  EXPECT_EQ(offered("megalith pretrain-gpt --optim"),
            (std::vector<std::string>{"--optimizer", "--optimizer-cpu-offload", "--optimizer-offload-fraction"}));
  EXPECT_TRUE(is_in(offered("megalith pretrain-t5 --"), "--num-layers"));
  EXPECT_TRUE(is_in(offered("megalith plan --lr"), "--lr-decay-style"));
  EXPECT_EQ(offered("megalith generate --lr"), std::vector<std::string>{""});
  EXPECT_EQ(offered("megalith pretrain-gpt --lr-decay-style cos"), std::vector<std::string>{"cosine"});
  EXPECT_EQ(offered("megalith completion z"), std::vector<std::string>{""});
  spit(*this / "a model.bin", "");
  EXPECT_EQ(offered("megalith evaluate --load '" + *this / "a mo'"), std::vector<std::string>{*this / "a model.bin"});
  for (const char* command : {"generate", "convert", "launch", "retro", "submit"}) {
    const std::vector<std::string> all = offered("megalith " + std::string(command) + " --");
    for (const std::string& flag : flags_in_help(command == std::string("retro") ? "retro build" : command))
      EXPECT_TRUE(is_in(all, flag)) << command << " " << flag;
  }
}

TEST_F(Help, ZshTakesItsScript) {
  if (!has("zsh")) GTEST_SKIP() << "zsh is not installed";
  spit(*this / "zsh", megalith("completion zsh").out);
  EXPECT_EQ(std::system(("zsh -n '" + *this / "zsh" + "'").c_str()), 0);
}

TEST_F(Help, TheManualHasEveryCommandAndFlag) {
  const std::string page = megalith("manual").out;
  for (const char* command : {"pretrain-gpt", "evaluate", "generate", "convert", "launch", "submit"}) {
    for (const std::string& flag : flags_in_help(command)) {
      std::string dashed = flag;
      for (size_t at = 0; (at = dashed.find('-', at)) != std::string::npos; at += 2) dashed.insert(at, "\\");
      EXPECT_NE(page.find("\\fB" + dashed + "\\fR"), std::string::npos) << command << " " << flag;
    }
  }
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('.'))
      EXPECT_TRUE(line.starts_with(".TH ") || line.starts_with(".SH ") || line == ".PP" || line == ".TP") << line;
  if (!has("groff")) return;
  spit(*this / "page", page);
  EXPECT_EQ(
      std::system(
          ("groff -man -ww -Wbreak -Tutf8 '" + *this / "page" + "' 2>&1 >/dev/null | grep . ; test $? -eq 1").c_str()),
      0);
}

TEST_F(Help, AShellThatIsNotKnownIsRefused) {
  expect_refused("completion fish", "bash");
  expect_refused("manual x", "no arguments");
}

}  // namespace
}  // namespace megalith::test
