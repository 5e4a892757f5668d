// Tests of the report's sections about phases, ranks and memory.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "folder.h"
#include "html_check.h"
#include "report/report.h"

namespace megalith::report {

namespace {

class RanksOfReport : public Folder {
 protected:
  // The report page of the folder. It must be well-formed.
  std::string page() const {
    const std::string html = html_report(read_run(dir()));
    const ReadPage read = read_page(html);
    EXPECT_EQ(read.mistake, "");
    EXPECT_TRUE(read.urls.empty());
    return html;
  }
  static std::string own_work(int iteration, const std::string& ms) {
    return fmt::format("{{\"event\":\"own_work\",\"time\":1,\"iteration\":{},\"own_ms\":[{}]}}\n", iteration, ms);
  }
};

// The share after a name in the legend of a chart.
double share_of(const std::string& html, const std::string& name) {
  const std::size_t at = html.find("</i>" + name + " ");
  return at == std::string::npos ? -1 : std::stod(html.substr(at + 5 + name.size()));
}

}  // namespace

// Steps of the second half count, because a run warms up.
TEST_F(RanksOfReport, ThePlanIsBesideTheMeasurement) {
  std::string lines;
  for (int i = 1; i <= 20; ++i)
    lines += fmt::format("{{\"iteration\":{},\"iteration_ms\":{}}}\n", i, i > 10 ? 100 : 900);
  put("metrics.jsonl", lines);
  put("ranks.jsonl", R"({"event":"end","planned_bytes":[1048576,4194304],"used_bytes":[1048576,3145728]})"
                     "\n");
  RunFiles run = read_run(dir());
  EXPECT_EQ(html_report(run).find("Plan and measurement"), std::string::npos) << "nothing was predicted";
  run.predicted = {.step_seconds = 0.09, .source = "facts of <h100>"};
  const std::string html = html_report(run);
  EXPECT_EQ(read_page(html).mistake, "");
  EXPECT_NE(html.find("<td>Step time, ms</td><td>90</td><td>100</td><td>-10.0%</td>"), std::string::npos);
  EXPECT_NE(html.find("<td>Memory of rank 1, MiB</td><td>4</td><td>3</td><td>+33.3%</td>"), std::string::npos);
  EXPECT_NE(html.find("facts of &lt;h100&gt;"), std::string::npos);
}

TEST_F(RanksOfReport, PhasesFillTheIteration) {
  std::string lines;
  for (int i = 1; i <= 500; ++i)
    lines += fmt::format(
        "{{\"iteration\":{},\"iteration_ms\":100,\"phase_forward_backward_ms\":70,"
        "\"phase_forward_compute_ms\":20,\"phase_backward_compute_ms\":40,"
        "\"phase_all_grads_sync_ms\":10,\"phase_optimizer_ms\":15,"
        "\"phase_optimizer_inner_step_ms\":9}}\n",
        i);
  put("metrics.jsonl", lines);
  const std::string html = page();
  EXPECT_EQ(share_of(html, "forward_compute"), 20);
  EXPECT_EQ(share_of(html, "backward_compute"), 40);
  EXPECT_EQ(share_of(html, "rest of forward_backward"), 10);
  EXPECT_EQ(share_of(html, "all_grads_sync"), 10);
  EXPECT_EQ(share_of(html, "optimizer"), 15);
  EXPECT_EQ(share_of(html, "between phases"), 5);
  EXPECT_EQ(share_of(html, "optimizer_inner_step"), -1) << "a part of the optimizer";
}

TEST_F(RanksOfReport, TheMapNamesTheSlowRank) {
  std::string lines = R"({"event":"start","ranks":[{"host":"n1"},{"host":"n1"},{"host":"n<2>"},{"host":"n2"}]})"
                      "\n";
  for (int i = 1; i <= 100; ++i) lines += own_work(i, i > 50 ? "100,100,130,100" : "100,100,101,100");
  lines += own_work(60, "100,100,130,100");  // the iteration runs again after a resume
  put("ranks.jsonl", lines);
  const std::string html = page();
  EXPECT_NE(html.find("<td>2</td><td>n&lt;2&gt;</td><td>+15.5%</td><td>+30.0%</td><td>100 of 100 lines</td>"),
            std::string::npos);
  // The dark half of the third row, which is rank 2's.
  EXPECT_NE(html.find("<path fill=\"#6d0f1f\" d=\"M516.0 36.0h454.0v15.0h-454.0z\"/>"), std::string::npos);
}

// The median of two is their mean, so the slower one is above it.
TEST_F(RanksOfReport, TheMapNamesTheSlowerOfTwoRanks) {
  std::string lines;
  for (int i = 1; i <= 10; ++i) lines += own_work(i, "100,300");
  put("ranks.jsonl", lines);
  const std::string html = page();
  EXPECT_NE(html.find("<td>1</td><td></td><td>+50.0%</td><td>+50.0%</td><td>10 of 10 lines</td>"), std::string::npos);
  EXPECT_NE(html.find("<td>0</td><td></td><td>-50.0%</td>"), std::string::npos);
}

TEST_F(RanksOfReport, ThousandsOfRanksAreASmallPage) {
  std::string lines;
  std::mt19937 random(5);
  for (int i = 1; i <= 300; ++i) {
    std::string ms = "100";
    for (int r = 1; r < 2000; ++r) ms += fmt::format(",{}", 90 + random() % 40);
    lines += own_work(i, ms);
  }
  put("ranks.jsonl", lines);
  const std::string html = page();
  EXPECT_NE(html.find("the 64 of 2000 that were slowest"), std::string::npos);
  EXPECT_LT(html.size(), 2u << 20);
}

TEST_F(RanksOfReport, MemoryIsPlannedAndUsed) {
  put("ranks.jsonl",
      R"({"event":"start","ranks":[{"host":"n1"},{"host":"n2"}]})"
      "\n"
      R"({"event":"memory","iteration":1,"bytes":{"arena":104857600,"copies":0,"peak_forward":52428800,)"
      R"("planned":209715200,"used_peak":157286400}})"
      "\n"
      R"({"event":"end","iteration":9,"planned_bytes":[209715200,104857600],"used_bytes":[157286400,115343360]})"
      "\n");
  const std::string html = page();
  for (const char* part : {"<td>arena</td><td>100.0</td>", "<td>arena in forward, planned</td><td>50.0</td>",
                           "<td><b>planned</b></td><td>200.0</td>", "<td><b>used at most</b></td><td>150.0</td>",
                           "<td>0</td><td>n1</td><td>200.0</td><td>150.0</td><td>75.0%</td>",
                           "<td>1</td><td>n2</td><td>100.0</td><td>110.0</td><td><b class=\"bad\">110.0%</b></td>"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_EQ(html.find("<td>copies</td>"), std::string::npos) << "nothing of it";
}

TEST_F(RanksOfReport, ReadsWhateverIsThere) {
  const std::string whole = R"({"event":"start","ranks":[{"rank":0,"host":"n1","gpu":0}]})"
                            "\n" +
                            own_work(1, "1,2") +
                            R"({"event":"memory","bytes":{"a":1}})"
                            "\n";
  for (const std::string odd :
       {"", "x", "{\"event\":1}", "{\"event\":\"start\",\"ranks\":5}", "{\"event\":\"start\",\"ranks\":[1]}",
        "{\"event\":\"own_work\",\"own_ms\":[]}", "{\"event\":\"own_work\",\"own_ms\":[null,2]}",
        "{\"event\":\"own_work\",\"own_ms\":[0,0]}", "{\"event\":\"own_work\",\"own_ms\":[-5,1e308]}",
        "{\"event\":\"memory\",\"bytes\":{\"a\":\"b\",\"planned\":-1e308}}",
        "{\"event\":\"end\",\"planned_bytes\":[0],\"used_bytes\":[1,2,3]}"}) {
    put("ranks.jsonl", odd + "\n" + whole);
    page();
    put("ranks.jsonl", whole + odd);
    page();
  }
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    std::string text = whole;
    for (int k = 0; k < 6; ++k) text[random() % text.size()] = char(random());
    put("ranks.jsonl", text);
    page();
  }
}

}  // namespace megalith::report
