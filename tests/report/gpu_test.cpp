// Tests how the report shows GPUs during slow iterations. Samples of dcgmi or Prometheus are joined with iterations by
// host, GPU and time.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "base/check.h"
#include "folder.h"
#include "html_check.h"
#include "report/gpu_join.h"
#include "report/report.h"
#include "report/time_text.h"

namespace megalith::report {

namespace {

constexpr double kBegin = 1764190000;  // the end of iteration 0; each iteration takes a second, iteration 30 two

double end_of(int iteration) { return kBegin + iteration + (iteration >= 30 ? 1 : 0); }

// One sample per second. GPU 1 is slow and hot in iterations 29 and 30, where XID 79 appears.
std::string dmon(const std::string& stamp = "{:.0f} ") {
  std::string out;
  for (int second = 0; second <= 60; ++second) {
    if (second % 10 == 0)
      out += "#Entity   SMCLK   TMPTR   DVCCTR   TENSO   NVLTX   NVLRX   XIDER   FB\nID                C\n";
    const bool slow = second == 30 || second == 31;
    const std::string when = stamp.empty() ? "" : fmt::format(fmt::runtime(stamp), kBegin + second);
    out += when + "GPU 0     1980    60      0        0.500   2000000000   1000000000   0   N/A\n";
    out += when + fmt::format("GPU 1     {}    {}      {}        {}   2000000000   1000000000   {}   12\n",
                              slow ? 1200 : 1980, slow ? 91 : 61, slow ? 64 : 1, slow ? "0.200" : "0.500",
                              second >= 30 ? 79 : 0);
  }
  return out;
}

class Gpus : public Folder {
 protected:
  Gpus() {
    std::string lines, own;
    for (int i = 1; i <= 60; ++i) {
      lines += fmt::format("{{\"iteration\":{},\"lm_loss\":2,\"iteration_ms\":{},\"time\":{}}}\n", i,
                           i == 30 ? 2000 : 1000, end_of(i));
      own += fmt::format("{{\"event\":\"own_work\",\"time\":1,\"iteration\":{},\"own_ms\":[500,500,500,{}]}}\n", i,
                         i == 30 ? 900 : 400);
    }
    put("run/metrics.jsonl", lines);
    put("run/ranks.jsonl", R"({"event":"start","time":1,"iteration":0,"ranks":[)"
                           R"({"rank":0,"host":"n1.cluster","stage":0,"bus":"0000:1b:00.0","gpu":0},)"
                           R"({"rank":1,"host":"n1.cluster","stage":0,"bus":"0000:43:00.0","gpu":1},)"
                           R"({"rank":2,"host":"n2.cluster","stage":0,"bus":"0000:1b:00.0","gpu":0},)"
                           R"({"rank":3,"host":"n2.cluster","stage":0,"bus":"0000:43:00.0","gpu":1}]})"
                           "\n" +
                               own);
  }
  // The rows for slow iterations. Also checks that the page is well-formed.
  GpuJoin join(const std::string& file, const std::string& host = "", const GpuFileTimes& times = {}) {
    files_ = {read_gpu_file(*this / file, times)};
    const RunFiles run = read_run(*this / "run");
    GpuJoin joined = join_gpus(run, files_, {host});
    html_ = html_report(run, nullptr, &joined);
    const ReadPage page = read_page(html_);
    EXPECT_EQ(page.mistake, "");
    EXPECT_TRUE(page.urls.empty());
    return joined;
  }
  std::string mistake_of(const std::string& text) {
    put("odd", text);
    try {
      const GpuJoin joined = join("odd", "n2");
      return joined.notes.empty() ? "no note" : joined.notes[0];
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
      return e.what();
    }
  }
  static bool has_note(const GpuJoin& join, const std::string& part) {
    for (const std::string& note : join.notes)
      if (note.find(part) != std::string::npos) return true;
    return false;
  }

  std::vector<GpuFile> files_;
  std::string html_;
};

void expect_found(const GpuJoin& join) {
  ASSERT_EQ(join.slow.size(), 1u);
  const SlowGpu& s = join.slow[0];
  EXPECT_EQ(s.slow.iteration, 30);
  EXPECT_EQ(s.rank, 3);
  ASSERT_GE(s.joined, 0);
  EXPECT_EQ(join.gpus[size_t(s.joined)].host, "n2");
  EXPECT_EQ(join.gpus[size_t(s.joined)].gpu, 1);
  EXPECT_EQ(s.around.least_clock, 1200);
  EXPECT_EQ(s.around.hottest, 91);
  EXPECT_EQ(s.around.throttle, 64u) << "idle clocks are no reason";
  EXPECT_NEAR(s.around.nvlink, 3e9, 1);
  EXPECT_LT(s.around.tensor, 0.45);
  EXPECT_EQ(s.new_xids, std::vector<i64>{79});
}

}  // namespace

TEST_F(Gpus, AreJoinedByHostGpuAndTime) {
  put("n2.txt", dmon());
  const GpuJoin joined = join("n2.txt");
  expect_found(joined);
  EXPECT_TRUE(joined.slow[0].by_own_work);
  for (const char* part :
       {"<td>30</td><td>2000.0 (1000.0)</td><td>3</td><td>n2, GPU 1</td>", "(1980)</td>", "<td>91</td>",
        "<span>hardware thermal</span>", "<b class=\"bad\">79</b>", "<td>2</td><td>n2, GPU 0</td>"})
    EXPECT_NE(html_.find(part), std::string::npos) << part;
  EXPECT_EQ(html_.find("<th>W</th>"), std::string::npos) << "no column of what the file lacks";
}

TEST_F(Gpus, TheHostIsGivenOrInTheFilesName) {
  put("samples.txt", dmon());
  expect_found(join("samples.txt", "n2"));
  EXPECT_EQ(join("samples.txt", "n2.cluster").slow[0].rank, 3);
  EXPECT_TRUE(has_note(join("samples.txt"), "it does not tell its host"));
  const GpuJoin other = join("samples.txt", "n9");
  EXPECT_TRUE(has_note(other, "host n9 is not in the run, whose hosts are n1, n2"));
  EXPECT_NE(html_.find("No sample is of a GPU of this run"), std::string::npos);
  const GpuJoin first = join("samples.txt", "n1");  // the slowest rank is on the other host
  ASSERT_EQ(first.slow.size(), 1u);
  EXPECT_EQ(first.slow[0].joined, -1);
  EXPECT_NE(html_.find("no samples of its GPU"), std::string::npos);
}

TEST_F(Gpus, WithoutOwnWorkTheLowestClockIsTheSlowest) {
  put("run/ranks.jsonl", R"({"event":"start","ranks":[{"rank":0,"host":"n2","gpu":0},{"rank":1,"host":"n2","gpu":1}]})"
                         "\n");
  put("x.txt", dmon());
  const GpuJoin joined = join("x.txt");  // the run has only one host
  ASSERT_EQ(joined.slow.size(), 1u);
  EXPECT_EQ(joined.slow[0].rank, 1);
  EXPECT_FALSE(joined.slow[0].by_own_work);
  EXPECT_NE(html_.find("<td>1, by its clock</td>"), std::string::npos);
  std::filesystem::remove(*this / "run/ranks.jsonl");
  const GpuJoin unknown = join("x.txt");
  EXPECT_EQ(unknown.slow[0].around.least_clock, 1200);
  EXPECT_TRUE(has_note(unknown, "no ranks.jsonl"));
}

TEST_F(Gpus, FilesWithoutTimesEndWithTheirLastChange) {
  put("n2.txt", dmon(""));
  expect_found(join("n2.txt", "", {.begin = kBegin}));
  const double now =
      std::floor(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  const GpuJoin late = join("n2.txt");
  EXPECT_NEAR(files_[0].gpus[0].samples.back().time, now, 30);
  EXPECT_NEAR(files_[0].gpus[0].samples.front().time, now - 60, 30);
  EXPECT_TRUE(has_note(late, "it tells no times"));
  EXPECT_TRUE(has_note(late, "--dcgm-offset"));
  EXPECT_NE(html_.find("no sample at that time"), std::string::npos);
  expect_found(join("n2.txt", "", {.offset = kBegin + 60 - files_[0].gpus[0].samples.back().time}));
}

TEST_F(Gpus, ClocksThatDifferAreMoved) {
  put("n2.txt", dmon());
  EXPECT_TRUE(has_note(join("n2.txt", "", {.offset = 3600}), "the run's lines from 2025-11-26"));
  std::string text = dmon();
  EXPECT_EQ(join("n2.txt", "", {.offset = 20}).slow[0].around.least_clock, 1980) << "another time";
}

TEST_F(Gpus, TakesTablesOfPrometheus) {
  std::string rows = "timestamp,Hostname,gpu,__name__,value\n";
  std::string wide =
      "time,instance,gpu,pci_bus_id,DCGM_FI_DEV_SM_CLOCK,DCGM_FI_DEV_GPU_TEMP,"
      "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS,DCGM_FI_PROF_PIPE_TENSOR_ACTIVE,"
      "DCGM_FI_PROF_NVLINK_TX_BYTES,DCGM_FI_PROF_NVLINK_RX_BYTES,DCGM_FI_DEV_XID_ERRORS\n";
  std::string series = "\"Time\"";
  std::vector<std::string> names = {"DCGM_FI_DEV_SM_CLOCK",
                                    "DCGM_FI_DEV_GPU_TEMP",
                                    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
                                    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
                                    "DCGM_FI_PROF_NVLINK_TX_BYTES",
                                    "DCGM_FI_PROF_NVLINK_RX_BYTES",
                                    "DCGM_FI_DEV_XID_ERRORS"};
  for (const std::string& n : names)
    series += fmt::format(",\"{}{{Hostname=\"\"n2\"\", gpu=\"\"1\"\", modelName=\"\"H100, 80GB\"\"}}\"", n);
  series += "\n";
  std::vector<std::string> points(names.size());
  for (int second = 0; second <= 60; ++second) {
    const bool slow = second == 30 || second == 31;
    const std::vector<double> v = {slow ? 1200. : 1980.,   slow ? 91. : 61., slow ? 64. : 1., slow ? .2 : .5, 2e9, 1e9,
                                   second >= 30 ? 79. : 0.};
    const double time = kBegin + second;
    for (size_t k = 0; k < v.size(); ++k) {
      rows += fmt::format("{},n2,1,{},{}\n", i64(time * 1000), names[k], v[k]);  // milliseconds
      points[k] += fmt::format("{}[{},\"{}\"]", second == 0 ? "" : ",", time, v[k]);
    }
    wide += fmt::format("{},n2:9400,7,00000000:43:00.0,{}\r\n", time, fmt::join(v, ","));
    series += fmt::format("2025-11-26 {:02}:{:02}:{:02},{}\n", 20 + (46 * 60 + 40 + second) / 3600,
                          (46 * 60 + 40 + second) / 60 % 60, (40 + second) % 60, fmt::join(v, ","));
  }
  std::string json =
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up"},"values":[]})";
  for (size_t k = 0; k < names.size(); ++k)
    json += fmt::format(R"(,{{"metric":{{"__name__":"{}","Hostname":"n2","gpu":"1"}},"values":[{}]}})", names[k],
                        points[k]);
  for (const std::string& text : {rows, wide, series, json + "]}}"}) {
    put("prometheus", text);
    const GpuJoin joined = join("prometheus");
    EXPECT_TRUE(joined.notes.empty()) << joined.notes[0];
    expect_found(joined);
  }
}

TEST_F(Gpus, OddFilesAreToldInOneLine) {
  EXPECT_NE(mistake_of("").find("odd: it is empty"), std::string::npos);
  EXPECT_NE(mistake_of(" \n\n").find("it is empty"), std::string::npos);
  EXPECT_NE(mistake_of("#Entity FBUSD\nID\nGPU 0  12\n").find("none of its columns is known"), std::string::npos);
  EXPECT_NE(mistake_of("#Entity TENSO\nID\n").find("it has no sample of a GPU"), std::string::npos);
  EXPECT_NE(mistake_of("a,b\n1,2\n").find("names no column of times"), std::string::npos);
  EXPECT_NE(mistake_of("time,b\n1,2\n").find("names no metric of dcgm-exporter"), std::string::npos);
  EXPECT_NE(mistake_of("{\"status\":\"error\"}").find("it is no answer of Prometheus"), std::string::npos);
  EXPECT_NE(mistake_of("[{").find("it is no answer of Prometheus"), std::string::npos);
  EXPECT_NE(mistake_of(dmon() + "GPU 0 1 2\nGPU x 1 2 3 4 5 6 7 8\nbroken\n").find("3 lines could not be read"),
            std::string::npos);
  EXPECT_THROW(read_gpu_file(*this / "none"), Error);
  EXPECT_THROW(read_gpu_file(dir()), Error);
  std::mt19937 random(7);
  for (const std::string& whole : {dmon(), dmon(""), std::string("time,gpu,DCGM_FI_DEV_GPU_TEMP\n1764190000,1,40\n"),
                                   std::string(R"([{"metric":{"__name__":"DCGM_FI_DEV_GPU_TEMP"},"value":[1,"2"]}])")})
    for (int i = 0; i < 30; ++i) {
      std::string text = whole.substr(0, 1500);
      for (int k = 0; k < 12; ++k) text[random() % text.size()] = char(random());
      mistake_of(text);
    }
}

TEST_F(Gpus, RunsWithoutTimesOrGpusAreTold) {
  put("n2.txt", dmon());
  put("run/ranks.jsonl", "{\"event\":\"start\",\"ranks\":[{\"rank\":0,\"host\":\"n2\"}]}\n");
  EXPECT_TRUE(has_note(join("n2.txt"), "the run has no GPUs"));
  put("run/metrics.jsonl", "{\"iteration\":1,\"iteration_ms\":3}\n");
  EXPECT_TRUE(has_note(join("n2.txt"), "tells no times"));
}

TEST(TimeText, TakesSecondsMillisecondsAndDates) {
  EXPECT_EQ(time_of_text("1764190000.5"), 1764190000.5);
  EXPECT_EQ(time_of_text("1764190000500"), 1764190000.5);
  EXPECT_EQ(time_of_text("2025-11-26T20:46:40Z"), 1764190000);
  EXPECT_EQ(time_of_text("2025-11-26 20:46:40.5"), 1764190000.5);
  EXPECT_EQ(time_of_text("2025-11-26T21:46:40+01:00"), 1764190000);
  EXPECT_EQ(time_of_text("2025-11-26T15:16:40-0530"), 1764190000);
  for (const char* odd :
       {"", "5", "x", "2025-13-26T20:46:40Z", "2025-11-31T20:46:40Z", "2025-11-26T25:46:40Z", "2025-11-26T20:46:40+1",
        "2025-11-26x20:46:40", "1e999", "nan", "-1764190000", "2025-11-26T20:46:nan"})
    EXPECT_FALSE(time_of_text(odd)) << odd;
}

}  // namespace megalith::report
