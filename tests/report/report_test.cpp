// Tests of a run's report page. Its numbers are those of the files, it loads no resources, and it is small. No content
// of a run's folder may break it.
#include "report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>

#include "base/check.h"
#include "folder.h"
#include "html_check.h"
#include "report/decimate.h"

namespace megalith::report {
namespace {

// Metrics lines of a run with a falling loss, a spike, a non-finite value, and validation.
std::string some_metrics(i64 lines) {
  std::mt19937 random(5);
  std::string out;
  for (i64 i = 1; i <= lines; ++i) {
    const double noise = double(random() % 1000) / 1000;
    const double loss = i == lines / 2 ? 9.75 : 2 + 8 / std::sqrt(double(i)) + 0.1 * noise;
    if (i == lines / 3)
      out += fmt::format(
          "{{\"iteration\":{},\"lm_loss\":null,\"grad_norm\":1.5,\"skipped_iterations\":1,"
          "\"nonfinite\":{{\"lm_loss\":\"nan\"}}}}\n",
          i);
    else
      out += fmt::format(
          "{{\"iteration\":{},\"consumed_samples\":{},\"lm_loss\":{},\"learning_rate\":{},\"grad_norm\":{},"
          "\"iteration_ms\":{},\"tokens_per_second\":{},\"data_wait_ms\":0.25,\"mfu\":0.41,"
          "\"skipped_iterations\":0}}\n",
          i, 8 * i, loss, 3e-4 * (1 - double(i) / double(lines + 1)), 1 + noise, 100 + 5 * noise,
          80000 / (1 + 0.05 * noise));
    if (i % (lines / 4 + 1) == 0) out += fmt::format("{{\"iteration\":{},\"validation_loss\":{}}}\n", i, loss + 0.2);
  }
  return out;
}

// The cells of a metric's row in the table of numbers. Its name may be broken after each _ or dot.
std::vector<std::string> row_of(const std::string& page, const std::string& metric) {
  const std::string html = std::regex_replace(page, std::regex("<wbr>"), "");
  const std::size_t begin = html.find("<tr><td>" + metric + "</td>");
  if (begin == std::string::npos) return {};
  const std::string row = html.substr(begin, html.find("</tr>", begin) - begin);
  std::vector<std::string> cells;
  const std::regex cell("<td>([^<]*)</td>");
  for (std::sregex_iterator it(row.begin(), row.end(), cell), end; it != end; ++it) cells.push_back((*it)[1]);
  return cells;
}

class Report : public Folder {
 protected:
  // The report page of the folder. It must be well-formed and load no resources.
  std::string page() const {
    const std::string html = html_report(read_run(dir()));
    expect_sound(html);
    return html;
  }
  static void expect_sound(const std::string& html) {
    const ReadPage read = read_page(html);
    EXPECT_EQ(read.mistake, "");
    EXPECT_TRUE(read.urls.empty()) << read.urls.front();
    EXPECT_TRUE(read.scripts.empty()) << read.scripts.front();
  }
};

}  // namespace

TEST_F(Report, NumbersAreThoseOfTheFile) {
  put("metrics.jsonl", some_metrics(300));
  const std::string html = page();
  const MetricLines lines = read_metric_lines(*this / "metrics.jsonl");
  for (const MetricCurve& c : lines.curves) {
    const auto row = row_of(html, c.name);
    ASSERT_EQ(row.size(), 8u) << c.name;
    double least = INFINITY, greatest = -INFINITY;
    for (const CurvePoint& p : c.points)
      if (std::isfinite(p.value)) least = std::min(least, p.value), greatest = std::max(greatest, p.value);
    EXPECT_EQ(std::stoull(row[1]), c.points.size());
    EXPECT_EQ(std::stod(row[2]), c.points.front().value) << c.name;
    EXPECT_EQ(std::stod(row[3]), c.points.back().value) << c.name;
    EXPECT_EQ(std::stod(row[4]), least) << c.name;
    EXPECT_EQ(std::stod(row[5]), greatest) << c.name;
  }
  EXPECT_EQ(row_of(html, "lm_loss")[7], "1") << "not finite";
  EXPECT_NE(html.find("lm_loss is not finite</td><td>iteration 100"), std::string::npos);
  EXPECT_NE(html.find("class=\"odd\""), std::string::npos) << "a stroke where the loss is not finite";
}

TEST_F(Report, AHundredThousandStepsAreSmallAndKeepTheirSpike) {
  put("metrics.jsonl", some_metrics(100'000));
  const std::string html = page();
  EXPECT_LT(html.size(), 2u << 20);
  EXPECT_GT(html.size(), 50'000u);
  // The highest point of the loss is one step's spike, near the top of a chart of 230 units.
  const std::size_t begin = html.find("aria-label=\"lm loss\""), end = html.find("</svg>", begin);
  const std::string chart = html.substr(begin, end - begin);
  const std::size_t path = chart.find("class=\"run\"");
  double top = 1e9;
  const std::regex point("[ML][0-9.]+ ([0-9.]+)");
  for (std::sregex_iterator it(chart.begin() + std::ptrdiff_t(path), chart.end(), point), last; it != last; ++it)
    top = std::min(top, std::stod((*it)[1]));
  EXPECT_LT(top, 40);
}

TEST_F(Report, TellsTimesIncidentsSavesAndArguments) {
  put("metrics.jsonl", some_metrics(50));
  put("goodput.jsonl",
      "{\"event\":\"start\",\"at\":1700000000,\"iteration\":0,\"stack\":\"megalith 9.8.7\"}\n"
      "{\"event\":\"time\",\"at\":1700000100,\"iteration\":10,\"seconds\":{\"init\":10,\"train\":90}}\n"
      "{\"event\":\"start\",\"at\":1700000150,\"iteration\":5}\n"
      "{\"event\":\"end\",\"at\":1700000200,\"iteration\":10,\"seconds\":{\"train\":50}}\n");
  put("iter_0000010/model.bin", std::string(3 << 20, 'x'));
  put("incidents/iter_0000007.json",
      "{\"iteration\":7,\"reason\":\"loss spike\",\"rank\":3,\"found\":{\"layer\":11,\"tensor\":\"h<11>\"},"
      "\"documents\":[12,\"a&b\"]}");
  put("incidents/iter_0000008.json", "[1,");
  put("incidents/iter_0000009.json",
      "{\"iteration\":9,\"kind\":\"spike\",\"cause\":\"a norm of 9\",\"rank\":null,\"samples\":[{\"documents\":["
      "{\"prefix\":\"wiki\",\"document\":40},{\"prefix\":\"wiki\",\"document\":12}]},7,{\"documents\":["
      "{\"prefix\":\"books\",\"document\":7},{\"prefix\":\"wiki\",\"document\":12},{}]}]}");
  put("arguments_0000000.txt",
      "------ arguments ------\n  seq_length .......... 1024\n  train_iters ......... 200\n  data_path ........... "
      "['./a <b>']\n");
  const std::string html = page();
  EXPECT_NE(html.find("<td>90.000</td>"), std::string::npos) << "lost";
  EXPECT_NE(html.find("<td>50.000</td>"), std::string::npos) << "train, and restart";
  EXPECT_NE(html.find("<b>200.000</b>"), std::string::npos) << "wall time";
  EXPECT_NE(html.find("<b>25.0%</b><span>goodput in 2 starts"), std::string::npos);
  EXPECT_NE(html.find("megalith 9.8.7"), std::string::npos);
  EXPECT_NE(html.find("<tr><td>7</td><td>loss spike</td><td>3</td><td>11</td><td>h&lt;11&gt;</td>"), std::string::npos);
  EXPECT_NE(html.find("the file is not a JSON object"), std::string::npos);
  EXPECT_NE(html.find("<td>9</td><td>a norm of 9</td><td></td><td></td><td></td><td>books 7; wiki 12, 40</td>"),
            std::string::npos);
  EXPECT_NE(html.find("<tr><td>10</td><td>3.0</td>"), std::string::npos) << "a save";
  EXPECT_NE(html.find("<b>50 of 200</b><span>iterations"), std::string::npos);
  EXPECT_NE(html.find("data_path <b>[&#39;./a &lt;b&gt;&#39;]</b>"), std::string::npos);
}

// Each case is the folder of a run with a defect.
TEST_F(Report, ReadsWhateverIsThere) {
  EXPECT_NE(page().find("no metrics file was found"), std::string::npos) << "an empty folder";
  const std::string whole = some_metrics(30);
  std::vector<std::string> files = {
      "",
      "\n\n",
      "nonsense",
      whole.substr(0, whole.size() - 20),
      whole + "\xff\xfe\n[]\n{}\n{\"iteration\":\"a\"}\n{\"iteration\":1e400}\n",
      "{\"iteration\":5}\n",
      "{\"iteration\":5,\"lm_loss\":null}\n",
      "{\"iteration\":5,\"lm_loss\":NaN,\"grad_norm\":-Infinity}\n",
      "{\"iteration\":-9223372036854775808,\"lm_loss\":1e308}\n"
      "{\"iteration\":9223372036854775807,\"lm_loss\":-1e308}\n",
      "{\"iteration\":3,\"lm_loss\":2}\n{\"iteration\":1,\"lm_loss\":3}\n"
      "{\"iteration\":3,\"lm_loss\":7}\n",
      "{\"iteration\":1,\"</style><script>alert(1)</script>_loss\":2,\"lm_loss\":\"x\"}\n",
      "{\"iteration\":1,\"tokens_per_second\":0,\"lm_loss\":0}\n"};
  std::string many = "{\"iteration\":1";
  for (int i = 0; i < 3000; ++i) many += fmt::format(",\"loss_{}\":{}", i, i);
  files.push_back(many + "}\n");
  std::mt19937 random(3);
  for (int i = 0; i < 40; ++i) {  // the file with changed bytes
    std::string text = whole;
    for (int k = 0; k < 30; ++k) text[random() % text.size()] = char(random());
    files.push_back(text);
  }
  for (const std::string& text : files) {
    put("metrics.jsonl", text);
    EXPECT_LT(page().size(), 2u << 20) << text.substr(0, 80);
  }
  put("metrics.jsonl",
      "{\"iteration\":3,\"lm_loss\":2}\n{\"iteration\":1,\"lm_loss\":3}\n{\"iteration\":3,\"lm_loss\":7}\n");
  EXPECT_EQ(row_of(page(), "lm_loss")[3], "7") << "of two lines of an iteration the later";
  put("goodput.jsonl", "\x00{}" + whole), put("incidents/a.json", ""),
      put("arguments_1.txt", "\xff\n  \n  a\n  b ..\n");
  put("iter_0000010", "a file"), put("iter_99999999999999999999999/x", ""), put("iter_/x", "");
  EXPECT_LT(page().size(), 2u << 20);
}

TEST_F(Report, AMissingFolderOrFileIsToldInOneLine) {
  EXPECT_THROW(read_run(*this / "none"), Error);
  EXPECT_THROW(read_run(dir(), *this / "none.jsonl"), Error);
}

TEST_F(Report, FindsTheMetricsFileThatTheArgumentsName) {
  put("elsewhere/m.jsonl", some_metrics(9));
  put("run/arguments_0000000.txt", "  metrics_file ........ " + *this / "elsewhere/m.jsonl" + "\n");
  EXPECT_EQ(read_run(*this / "run").metrics.last_iteration(), 9);
}

TEST_F(Report, ABaselineIsDrawnAndComparedWith) {
  put("a/metrics.jsonl", some_metrics(60));
  put("b/metrics.jsonl",
      std::regex_replace(some_metrics(60), std::regex("\"iteration\":40,\"consumed_samples\":320,\"lm_loss\":[0-9.]+"),
                         "\"iteration\":40,\"consumed_samples\":320,\"lm_loss\":7.5"));
  put("a/arguments_0000000.txt", "  lr .... 0.1\n  save .... a\n");
  put("b/arguments_0000000.txt", "  lr .... 0.2\n  save .... b\n");
  const RunFiles b = read_run(*this / "b");
  const std::string html = html_report(read_run(*this / "a"), &b);
  expect_sound(html);
  EXPECT_NE(html.find("class=\"base\""), std::string::npos);
  EXPECT_NE(html.find("first differs at iteration 40"), std::string::npos);
  EXPECT_NE(html.find("<tr><td>lr</td><td>0.1</td><td>0.2</td></tr>"), std::string::npos);
  EXPECT_EQ(html.find("<tr><td>save</td>"), std::string::npos) << "places are no difference";
}

TEST_F(Report, IsHeadedByTheNameOfTheRun) {
  put("a/arguments_0000000.txt", "  run_name ....... llama <8b>\n");
  put("b/arguments_0000000.txt", "  run_name ....... None\n");
  put("a/metrics.jsonl", some_metrics(9)), put("b/metrics.jsonl", some_metrics(9));
  const RunFiles a = read_run(*this / "a"), b = read_run(*this / "b");
  EXPECT_NE(html_report(a).find("<h1>llama &lt;8b&gt;</h1>\n<p class=\"quiet\">" + *this / "a</p>"), std::string::npos);
  EXPECT_NE(html_report(b).find("<h1>b</h1>"), std::string::npos);
  EXPECT_NE(html_report(a, &b).find("</i>llama &lt;8b&gt;<i class=\"key b\"></i>b, the baseline"), std::string::npos);
  EXPECT_NE(html_report(a, &a).find("</i>" + *this / "a<i"), std::string::npos)
      << "names that are the same say nothing";
}

TEST_F(Report, MarksWhereStartsResumed) {
  put("metrics.jsonl", some_metrics(50));
  EXPECT_EQ(page().find("resumed"), page().find("resumed{")) << "only in the style";
  for (const int iteration : {0, 30, 20, 20, 50})
    put_more("goodput.jsonl", fmt::format("{{\"event\":\"start\",\"at\":1700000000,\"iteration\":{}}}\n", iteration));
  const std::string html = page();
  EXPECT_NE(html.find("resumed after iterations 20, 30</p>"), std::string::npos);
  std::size_t charts = 0, marks = 0;
  for (std::size_t at = 0; (at = html.find("<svg", at)) != std::string::npos; ++at) ++charts;
  for (std::size_t at = 0; (at = html.find("<path class=\"resume\"", at)) != std::string::npos; ++at) ++marks;
  EXPECT_GT(charts, 5u);
  EXPECT_EQ(marks, charts);
}

// Without --timing-log-level a run has the wait for data.
TEST_F(Report, DividesIterationsWithoutTimers) {
  std::string lines;
  for (int i = 1; i <= 20; ++i)
    lines += fmt::format("{{\"iteration\":{},\"iteration_ms\":50,\"data_wait_ms\":20}}\n", i);
  put("metrics.jsonl", lines);
  const std::string html = page();
  EXPECT_NE(html.find("</i>waiting for data 40.0%</span>"), std::string::npos);
  EXPECT_NE(html.find("</i>rest of the iteration 60.0%</span>"), std::string::npos);
  EXPECT_NE(html.find("with --timing-log-level 1"), std::string::npos);
}

TEST(Decimate, KeepsExtremesOfEachPart) {
  std::vector<CurvePoint> points;
  std::mt19937 random(1);
  for (i64 i = 0; i < 10'000; ++i) points.push_back({i, double(random() % 1000)});
  points[1234].value = 5000, points[7777].value = -5000, points[4000].value = NAN;
  const auto few = decimate(points, 100);
  EXPECT_LE(few.size(), 500u);
  const auto holds = [&](i64 iteration) {
    return std::ranges::any_of(few, [&](const CurvePoint& p) { return p.iteration == iteration; });
  };
  for (const i64 i : {i64{0}, i64{1234}, i64{4000}, i64{7777}, i64{9999}}) EXPECT_TRUE(holds(i)) << i;
  EXPECT_TRUE(std::ranges::is_sorted(few, {}, &CurvePoint::iteration));
}

TEST_F(Report, IncidentsHaveNoEmptyColumns) {
  put("incidents/iter_0000007.json", R"({"iteration":7,"kind":"spike","loss":3,"grad_norm":1})");
  const std::string html = page();
  EXPECT_NE(html.find("<th>Iteration</th><th>Reason</th><th>File</th>"), std::string::npos);
  EXPECT_NE(html.find("<td>iter_0000007.json</td></tr>"), std::string::npos);
}

}  // namespace megalith::report
