// Tests of the comparison of two runs: the differences, the first one, and whether it is too large.
#include "report/compare.h"

#include <cmath>

#include "folder.h"

namespace megalith::report {
namespace {

class Compare : public Folder {
 protected:
  TextComparison compared(const std::string& a, const std::string& b, double tolerance = 0) const {
    put("a/metrics.jsonl", a), put("b/metrics.jsonl", b);
    return compare_runs(read_run(*this / "a"), read_run(*this / "b"), tolerance);
  }
  static bool says(const TextComparison& c, const std::string& text) { return c.text.find(text) != std::string::npos; }
};

const std::string kOne =
    "{\"iteration\":1,\"lm_loss\":4,\"iteration_ms\":10}\n{\"iteration\":2,\"lm_loss\":3.5,\"iteration_ms\":10}\n"
    "{\"iteration\":3,\"lm_loss\":null,\"iteration_ms\":10,\"nonfinite\":{\"lm_loss\":\"nan\"}}\n";
const std::string kOther =
    "{\"iteration\":2,\"lm_loss\":3.25,\"iteration_ms\":11}\n{\"iteration\":3,\"lm_loss\":null,\"iteration_ms\":11}\n"
    "{\"iteration\":4,\"lm_loss\":1}\n";

}  // namespace

TEST_F(Compare, TheSameLossesAreTheSame) {
  const TextComparison c = compared(kOne, kOne);
  EXPECT_FALSE(c.differs);
  EXPECT_TRUE(says(c, "lm_loss: the same at all 3 common iterations")) << c.text;
}

TEST_F(Compare, NamesTheFirstDifferenceAndHoldsItAgainstTheTolerance) {
  const TextComparison c = compared(kOne, kOther);
  EXPECT_TRUE(c.differs);
  EXPECT_TRUE(says(c, "lm_loss: first differs at iteration 2: 3.5 and 3.25;")) << c.text;
  EXPECT_TRUE(says(c, "2 common iterations")) << c.text;
  EXPECT_TRUE(says(c, "milliseconds an iteration, the middle value: 10 and 11, +10.0%")) << c.text;
  EXPECT_FALSE(compared(kOne, kOther, 0.25).differs);
  EXPECT_TRUE(compared(kOne, kOther, 0.2499).differs);
}

TEST_F(Compare, ALossThatIsNotFiniteInOneRunDiffersByAnyTolerance) {
  const TextComparison c =
      compared(kOne, kOne.substr(0, kOne.find("{\"iteration\":3")) + "{\"iteration\":3,\"lm_loss\":1}\n", 1e300);
  EXPECT_TRUE(c.differs) << c.text;
  EXPECT_TRUE(says(c, "first differs at iteration 3: nan and 1")) << c.text;
}

// A run that was resumed counts its spikes from 0 again.
TEST_F(Compare, CountsOfSpikesAreNoLosses) {
  const std::string line = "{\"iteration\":1,\"lm_loss\":4,\"loss_scale\":1,\"loss_spikes\":";
  const TextComparison c = compared(line + "1}\n", line + "7}\n");
  EXPECT_FALSE(c.differs) << c.text;
  EXPECT_FALSE(says(c, "spikes")) << c.text;
}

TEST_F(Compare, RunsWithoutACommonIterationDiffer) {
  const TextComparison c = compared("{\"iteration\":1,\"lm_loss\":4}\n", "{\"iteration\":2,\"lm_loss\":4}\n", 1e9);
  EXPECT_TRUE(c.differs);
  EXPECT_TRUE(says(c, "no iteration in common")) << c.text;
  EXPECT_TRUE(compared("", "").differs);
}

TEST_F(Compare, ListsArgumentsThatDiffer) {
  put("a/arguments_0000000.txt", "  lr .... 0.1\n  seed .... 1\n  save .... a\n");
  put("b/arguments_0000000.txt", "  lr .... 0.1\n  seed .... 2\n  save .... b\n  new .... x\n");
  const TextComparison c = compared(kOne, kOne);
  EXPECT_TRUE(says(c, "  new: - and x\n  seed: 1 and 2\n")) << c.text;
  EXPECT_FALSE(says(c, "save:")) << c.text;
}

}  // namespace megalith::report
