// Tests of `megalith report` and `megalith compare` on real runs.
#include <sys/stat.h>

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
  EXPECT_NE(html.find(fmt::format("<td>lm_<wbr>loss</td><td>12</td><td>{}</td><td>{}</td>", first, last)),
            std::string::npos);
  for (const char* part :
       {"12 of 12", "goodput in 1 start", "<td>megalith 0", "train_iters <b>12</b>", "validation loss"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_FALSE(std::filesystem::exists(*this / "a/report.html.tmp"));
  must(fmt::format("report {} --html {}", *this / "a", *this / "b.html"));
  EXPECT_TRUE(std::filesystem::exists(*this / "b.html"));
}

// Both ranks are on this host. The file has a GPU that neither of them uses.
TEST_F(ReportOfRuns, ShowsRanksPhasesAndMemory) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const Ran ran = megalith(
      pretrain(fmt::format("--train-iters 12 --global-batch-size 8 --log-interval 1 --save {0} --save-interval 12 "
                           "--metrics-file {0}/m.jsonl --log-straggler --timing-log-level 2",
                           *this / "a")),
      {.ranks = 2});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Ran without = must("report " + *this / "a");
  const std::string html = slurp(*this / "a/report.html");
  for (const char* part : {"aria-label=\"Phases of an iteration\"", "</i>forward_compute ", "<h2>Ranks</h2>",
                           "aria-label=\"Own time of ranks\"", " of 12 lines</td>", "<h2>Memory</h2>", "<td>arena</td>",
                           "<b>used at most</b>", "At the end, the fullest ranks"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  const double now = double(std::time(nullptr));
  spit(*this / "dcgm.txt", fmt::format("#Entity TENSO\nID\n{} GPU 0 0.5\n", now));
  const Ran with = must("report " + *this / "a" + " --dcgm " + *this / "dcgm.txt");
  EXPECT_NE(slurp(*this / "a/report.html").find("the run has no GPUs"), std::string::npos);
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
  expect_refused("report " + *this / "empty --dcgm x", "--dcgm x: cannot read it");
  spit(*this / "odd", "time,b\n1,2\n");
  expect_refused(fmt::format("report {0} --dcgm n1={1}", *this / "empty", *this / "odd"),
                 "names no metric of dcgm-exporter");
  expect_refused(fmt::format("report {} --dcgm-begin yesterday --dcgm {}", *this / "empty", *this / "odd"),
                 "--dcgm-begin yesterday");
  expect_refused(fmt::format("report {} --dcgm-interval 0 --dcgm {}", *this / "empty", *this / "odd"),
                 "--dcgm-interval 0");
  expect_refused("report " + *this / "empty --html " + *this / "empty", "cannot write it");
  expect_refused("compare " + *this / "empty", "two runs");
  expect_refused(fmt::format("compare {0} {0} --tolerance -1", *this / "empty"), "--tolerance");
  EXPECT_EQ(megalith(fmt::format("compare {0} {0}", *this / "empty")).exit_code, 1);
  must("report " + *this / "empty");
}

// A mistyped path costs no other file, and nothing waits for a pipe or reads a device without an end.
TEST_F(ReportOfRuns, OtherFilesAreLeftAlone) {
  const std::string run = *this / "run", file = *this / "m.jsonl", pipe = *this / "pipe", link = *this / "link";
  std::filesystem::create_directories(run);
  spit(file, "{\"iteration\":1}\n");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(fmt::format("report {} --html {}", run, file), "this file is there, and is no report");
  EXPECT_EQ(slurp(file), "{\"iteration\":1}\n");
  expect_refused(fmt::format("report {} --html {}", run, pipe), "it is not a regular file");
  for (const std::string& odd : {pipe, run, std::string("/dev/zero")}) {
    expect_refused(fmt::format("report {} --metrics {}", run, odd), "cannot read it");
    expect_refused(fmt::format("report {} --dcgm {}", run, odd), "cannot read it");
  }
  std::filesystem::create_directories(run + "/incidents");
  for (const char* name :
       {"goodput.jsonl", "ranks.jsonl", "arguments_0000000.txt", "incidents/a.json", "metrics.jsonl"})
    ASSERT_EQ(mkfifo((run + "/" + name).c_str(), 0600), 0);
  must("report " + run);
  must("report " + run);  // a report may be replaced
  std::filesystem::create_symlink(run + "/report.html", link);
  const std::string before = slurp(link);
  must(fmt::format("report {} --html {}", *this / "", link));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_NE(slurp(run + "/report.html"), before);
}

}  // namespace megalith::test
