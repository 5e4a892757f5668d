// Stages drawn as text: the meaning of the text, written by hand, and refused texts.
#include "plan/stage_layout.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/plan/refusal.h"

namespace megalith {
namespace {

using Counts = std::vector<i64>;

constexpr const char* kFlag = "--pipeline-model-parallel-layout ";

}  // namespace

TEST(StageLayout, CountsTheLayersOfEachStage) {
  EXPECT_EQ(parse_stage_layout("EL"), (Counts{0}));
  EXPECT_EQ(parse_stage_layout("EttttL"), (Counts{4}));
  EXPECT_EQ(parse_stage_layout("Ett|tt|ttL"), (Counts{2, 2, 2}));
  EXPECT_EQ(parse_stage_layout("Et|tm*2L"), (Counts{1, 1}));
  EXPECT_EQ(parse_stage_layout("E|t*3|L"), (Counts{0, 3, 0}));
  EXPECT_EQ(parse_stage_layout("Et*3|(tt|)*3tL"), (Counts{3, 2, 2, 2, 1}));
  EXPECT_EQ(parse_stage_layout("Et*3|(tt|)*3,L"), (Counts{3, 2, 2, 2, 0}));
  EXPECT_EQ(parse_stage_layout("E,t, |\n t|*3 t L"), (Counts{1, 1, 0, 0, 1}));
  EXPECT_EQ(parse_stage_layout("E(t*2|)*2(t|)*10L"), (Counts{2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(parse_stage_layout("E((t|)*2t)*2()*9L"), (Counts{1, 1, 2, 1, 1}));
}

// 61 layers over 16 ranks in two pieces each, as DeepSeek-V3 is trained, without its prediction of more tokens.
TEST(StageLayout, FitsAModelAndItsRanks) {
  const Counts stages = stages_of_layout("Et*3|(tt|)*29,|L", {61}, 16);
  ASSERT_EQ(stages.size(), 32u);
  EXPECT_EQ(stages[0], 3);
  EXPECT_EQ(stages[1], 2);
  EXPECT_EQ(stages[29], 2);
  EXPECT_EQ(stages[30], 0);
  EXPECT_EQ(stages[31], 0);
}

// Of an encoder-decoder: by its own letters, or both kinds of layers as t.
TEST(StageLayout, DrawsAnEncoderAndADecoder) {
  const DrawnLayers t5{.layers = 3, .decoder = 2};
  EXPECT_EQ(stages_of_layout("Ee|e|e|Ed|dL", t5, 5), (Counts{1, 1, 1, 1, 1}));
  EXPECT_EQ(stages_of_layout("Eee|eEd|dL", t5, 3), (Counts{2, 2, 1}));
  EXPECT_EQ(stages_of_layout("Eee|ed|dL", t5, 3), (Counts{2, 2, 1}));
  EXPECT_EQ(stages_of_layout("Et*3|ttL", t5, 2), (Counts{3, 2}));
  const auto said = [](const char* text, const DrawnLayers& model) {
    return refusal([&] { stages_of_layout(text, model, 2); });
  };
  const std::string flag = kFlag,
                    order = "e (layers of the encoder) are wanted before d (the decoder's), one or more of each";
  EXPECT_EQ(said("Eee|eL", {3}), flag + "'Eee|eL': " + order);
  EXPECT_EQ(said("Eed|dL", {3}), flag + "'Eed|dL': e and d are of an encoder-decoder: draw t");
  EXPECT_EQ(said("Eed|edL", t5), flag + "'Eed|edL': " + order);
  EXPECT_EQ(said("Et|edL", t5), flag + "'Et|edL': draw either t, or e and d");
  EXPECT_EQ(said("Eee|dddL", t5), flag +
                                      "'Eee|dddL' has 2 layers of the encoder (e) and 3 of the decoder (d), the model "
                                      "3 and 2: they must agree");
  EXPECT_EQ(said("Ett|tL", t5),
            flag + "'Ett|tL' has 3 layers (t), the encoder and the decoder have 5: they must agree");
  EXPECT_EQ(said("Ee|Eed|L", t5), flag + "'Ee|Eed|L': one E (embedding) is wanted, at its beginning");
}

TEST(StageLayout, RefusesWhatIsNoLayout) {
  const auto said = [](const std::string& text) { return refusal([&] { parse_stage_layout(text); }); };
  const std::string flag = kFlag;
  EXPECT_EQ(said(""), flag + "'': one E (embedding) is wanted, at its beginning");
  EXPECT_EQ(said("tt|L"), flag + "'tt|L': one E (embedding) is wanted, at its beginning");
  EXPECT_EQ(said("Et|E|L"), flag + "'Et|E|L': one E (embedding) is wanted, at its beginning");
  EXPECT_EQ(said("Et|t"), flag + "'Et|t': one L (head and loss) is wanted, at its end");
  EXPECT_EQ(said("EtL|t|L"), flag + "'EtL|t|L': one L (head and loss) is wanted, at its end");
  EXPECT_EQ(said("EtL|"), flag + "'EtL|': one L (head and loss) is wanted, at its end");
  EXPECT_EQ(said("Et|tm|L"), flag +
                                 "'Et|tm|L': m (multi-token prediction) is built in the last stage only: draw it right "
                                 "before L");
  EXPECT_EQ(said("Et|x L"),
            flag +
                "'Et|xL': 'x' at character 4: E, t, m, L, |, *N and parentheses are wanted, e and d of an "
                "encoder-decoder");
  EXPECT_EQ(said("Et*|L"), flag + "'Et*|L': the '*' at character 3 wants a number of times, 1 or more");
  EXPECT_EQ(said("Et*0|L"), flag + "'Et*0|L': the '*' at character 3 wants a number of times, 1 or more");
  EXPECT_EQ(said("Et*99999999999999999999L"),
            flag + "'Et*99999999999999999999L': the '*' at character 3 wants a number of times, 1 or more");
  EXPECT_EQ(said("E(t|L"), flag + "'E(t|L': a '(' is not closed: add a ')'");
  EXPECT_EQ(said("Et)*2L"), flag + "'Et)*2L': the ')' at character 3 closes nothing: add a '('");
  EXPECT_EQ(said("E(t*60000)*60000L"),
            flag + "'E(t*60000)*60000L': with its repetitions it has more than 65536 letters: draw fewer");
}

TEST(StageLayout, RefusesWhatDoesNotFit) {
  const auto said = [](const char* text, i64 layers, i64 ranks) {
    return refusal([&] { stages_of_layout(text, {layers}, ranks); });
  };
  const std::string flag = kFlag;
  EXPECT_EQ(said("Et|t|tL", 3, 2),
            flag + "'Et|t|tL' has 3 stages, which do not divide by --pipeline-model-parallel-size 2: draw a multiple");
  EXPECT_EQ(said("Et|tmL", 2, 2),
            flag + "'Et|tmL' has 1 modules of multi-token prediction (m), --mtp-num-layers is 0: they must agree");
  EXPECT_EQ(said("Et|tL", 3, 2), flag + "'Et|tL' has 2 layers (t), --num-layers is 3: they must agree");
  EXPECT_EQ(said("Ett|||L", 2, 4),
            flag + "'Ett|||L': pipeline rank 1 would have no layer: add a t to one of its stages");
  EXPECT_EQ(said("E||t|||L", 1, 3),
            flag + "'E||t|||L': pipeline rank 1 would have no layer: add a t to one of its stages");
}

// Whatever is typed is a layout or one line.
TEST(StageLayout, NeverFailsOtherwise) {
  const std::string letters = "EtLmed|()**1290,";
  std::mt19937 random(11);
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = trial % 2 ? "E" : "";
    for (size_t n = random() % 12; n > 0; --n) text += letters[random() % letters.size()];
    if (trial % 2) text += "L";
    const std::string error = refusal([&] { accepted += !parse_stage_layout(text).empty(); });
    EXPECT_EQ(error.find('\n'), error.npos);
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace megalith
