#include "settings/compatibility.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "compatibility_examples.h"
#include "options_helpers.h"

namespace megalith {
namespace {

const Examples& examples() {
  static const Examples all = [] {
    Examples list;
    for (const auto& part : {examples_of_model(), examples_of_schedule(), examples_of_parallel(), examples_of_run(),
                             examples_of_observe(), examples_of_experts(), examples_of_bert(), examples_of_attention(),
                             examples_of_encoder_decoders(), examples_of_retro(), examples_of_quantize()})
      list.insert(part.begin(), part.end());
    return list;
  }();
  return all;
}

TEST(Compatibility, EveryRuleHasAnExampleThatBreaksItAlone) {
  for (const Rule& rule : compatibility_rules()) {
    const auto [begin, end] = examples().equal_range(std::string(rule.what));
    EXPECT_NE(begin, end) << "no example breaks the rule: " << rule.what;
    for (auto it = begin; it != end; ++it) {
      const Example& example = it->second;
      if (rule.action == Rule::Action::refuse) {
        EXPECT_EQ(refusal_of(kSmallRun + example.flags), example.message) << rule.what;
      } else {
        const auto notes = options_of(kSmallRun + example.flags).notes;
        EXPECT_EQ(std::count(notes.begin(), notes.end(), "warning: " + example.message), 1) << rule.what;
      }
    }
  }
}

TEST(Compatibility, EveryExampleBelongsToARule) {
  for (const auto& [what, example] : examples()) {
    const auto& rules = compatibility_rules();
    EXPECT_TRUE(std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.what == what; })) << what;
  }
}

TEST(Compatibility, TheSmallRunBreaksNone) {
  const Options options = options_of(kSmallRun);
  for (const Rule& rule : compatibility_rules()) EXPECT_EQ(rule.broken(options), "") << rule.what;
}

// A rule ignores values that the run does not use. Another rule refuses sizes of other architectures.
TEST(Compatibility, NoNumberIsTakenThatIsFarBelowItsRange) {
  Options options;
  config::FieldList list;
  list_fields(options, list);
  int numbers = 0;
  for (const config::Field& field : list.all()) {
    const bool is_number = std::holds_alternative<i64*>(field.ref) || std::holds_alternative<i32*>(field.ref);
    if (!is_number) continue;
    ++numbers;
    EXPECT_NE(refusal_of(kSmallRun + fmt::format("--{} -5", field.name)), "") << field.name;
  }
  EXPECT_GT(numbers, 80);
}

TEST(Compatibility, AllMissingFlagsAreNamedInOneLine) {
  EXPECT_EQ(
      refusal_of(""),
      "missing required flags: --num-layers, --hidden-size, --num-attention-heads, --seq-length, --micro-batch-size, "
      "--train-iters (or --train-samples), --lr, --data-path (or --mock-data)");
}

// One answer has all errors. It omits errors that only follow from another one.
TEST(Compatibility, EveryBrokenRuleIsTold) {
  const auto mistakes = [](const std::string& flags) {
    const std::string text = refusal_of(kSmallRun + flags);
    std::vector<std::string> lines;
    size_t at = text.find(" things stop this: ");
    for (at = at == std::string::npos ? 0 : at + 19; at < text.size();) {
      const size_t end = std::min(text.find("; ", at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 2;
    }
    return lines;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(mistakes("--num-query-groups 3 --adam-beta1 2 --split 1 --sft"),
            (Lines{"--num-attention-heads 4 is not divisible by --num-query-groups 3: give a divisor of the heads",
                   "--adam-beta1 2 is out of range: from 0 to below 1 is wanted",
                   "--sft needs chats and --mock-data makes up plain documents: give --data-path FILE.jsonl",
                   "--sft needs a tokenizer: give --tokenizer-type HuggingFaceTokenizer --tokenizer-model DIR"}));
  // --lr cannot be read, so --min-lr is not compared with it. Heads and width follow from sizes that are out of range.
  EXPECT_EQ(mistakes("--lr fast --min-lr 1 --num-attention-heads -3 --hidden-size 9223372036854775807"),
            (Lines{"--lr: 'fast' is not a number, such as 0.1 or 6e-4",
                   "--hidden-size 9223372036854775807 is out of range: from 1 to 2^40 is wanted",
                   "--num-attention-heads -3 is out of range: from 1 to 2^40 is wanted"}));
  EXPECT_EQ(mistakes("--micro-batch-size 0 --world-size 3 --dry-run --tensor-model-parallel-size 2").size(), 2u);
  EXPECT_EQ(refusal_of("--min-lr 1 --num-layers x").find("--lr 0"), std::string::npos);
}

// Rules give an answer for any missing or invalid flags. They never divide by zero.
TEST(Compatibility, RulesHoldOnAnyNumbers) {
  std::mt19937 random(7);
  Options options;
  config::FieldList fields = config::fields_of(options);
  std::vector<std::string> flags;
  for (const config::Field& field : fields.all())
    if (std::holds_alternative<i64*>(field.ref)) flags.push_back(field.spellings[0].flag);
  for (int n = 0; n < 3000; ++n) {
    std::string line;
    const auto value = [&] { return std::array{"-1", "0", "1", "2", "3", "64", "1099511627776"}[random() % 7]; };
    for (unsigned i = random() % 8; i > 0; --i) line += fmt::format("{} {} ", flags[random() % flags.size()], value());
    for (const char* more :
         {"--dry-run ", "--sequence-parallel ", "--swiglu ", "--pipeline-model-parallel-layout auto "})
      if (random() % 2) line += more;
    SCOPED_TRACE(line);
    (void)refusal_of(random() % 2 ? kSmallRun + line : line);
  }
}

TEST(Compatibility, ModelAloneIsCheckedWithoutTheRun) {
  ModelConfig model = read_line(kSmallRun).model;
  model.resolve();
  EXPECT_NO_THROW(check_model(model));
  model.num_query_groups = 3;
  EXPECT_THROW(check_model(model), Error);
}

TEST(Compatibility, PageListsEveryRule) {
  const std::string page = compatibility_markdown();
  for (const Rule& rule : compatibility_rules()) EXPECT_NE(page.find(rule.what), std::string::npos) << rule.what;
}

}  // namespace
}  // namespace megalith
