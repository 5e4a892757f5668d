// `megalith report` and `megalith compare` for real runs.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "workshop.h"

namespace megalith::test {
namespace {

class ReportOfRuns : public Workshop {
 protected:
  void train(const std::string& name, const std::string& more) {
    must(
        pretrain(fmt::format("--train-iters 12 --log-interval 1 --save {} --save-interval 6 --metrics-file {}/m.jsonl "
                             "--split 90,10,0 --eval-interval 4 {}",
                             *this / name, *this / name, more)));
  }
};

}  // namespace

TEST_F(ReportOfRuns, HoldsTheLossesOfTheMetricsFile) {
  train("a", "");
  const Ran ran = must("report " + *this / "a");
  EXPECT_EQ(ran.out, *this / "a/report.html" + "\n");
  const std::string html = slurp(*this / "a/report.html");
  std::istringstream lines(slurp(*this / "a/m.jsonl"));
  double first = 0, last = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto j = nlohmann::json::parse(line);
    if (!j.contains("lm_loss")) continue;
    last = j["lm_loss"];
    if (j["iteration"] == 1) first = last;
  }
  EXPECT_NE(html.find(fmt::format("<td>lm_loss</td><td>12</td><td>{}</td><td>{}</td>", first, last)),
            std::string::npos);
  for (const char* part :
       {"12 of 12", "goodput in 1 start", "<td>megalith 0", "train_iters <b>12</b>", "validation loss"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_FALSE(std::filesystem::exists(*this / "a/report.html.tmp"));
  must(fmt::format("report {} --html {}", *this / "a", *this / "b.html"));
  EXPECT_TRUE(std::filesystem::exists(*this / "b.html"));
}

TEST_F(ReportOfRuns, CompareHasAnExitStatus) {
  train("a", ""), train("b", ""), train("c", "--seed 77");
  const std::string line = "compare " + *this / "a" + " ";
  EXPECT_EQ(megalith(line + *this / "b").exit_code, 0);
  const Ran ran = megalith(line + *this / "c");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find("  seed: 1234 and 77\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("lm_loss: first differs at iteration 1:"), std::string::npos) << ran.out;
  EXPECT_EQ(megalith(line + *this / "c --tolerance 5").exit_code, 0);
}

TEST_F(ReportOfRuns, MistakesAreOneLine) {
  expect_refused("report", "give the --save directory of a run");
  expect_refused("report " + *this / "none", "there is no such directory");
  std::filesystem::create_directories(*this / "empty");
  expect_refused("report " + *this / "empty --dcgm x", "--dcgm x: not built");
  expect_refused("report " + *this / "empty --html " + *this / "empty", "cannot write it");
  expect_refused("compare " + *this / "empty", "two runs");
  expect_refused(fmt::format("compare {0} {0} --tolerance -1", *this / "empty"), "--tolerance");
  EXPECT_EQ(megalith(fmt::format("compare {0} {0}", *this / "empty")).exit_code, 1);
  must("report " + *this / "empty");
}

}  // namespace megalith::test
