// Compares the dashboard and the rules with the scrape of a real training run. Every series that they use must exist.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "exec/cpu/backend.h"
#include "http.h"
#include "observe/endpoint.h"
#include "observe/gpu_signals.h"
#include "prometheus_tools.h"
#include "tests/harness/thread_ranks.h"
#include "tests/places.h"
#include "tests/train/small_run.h"
#include "train/training_run.h"

namespace megalith {
namespace {

std::string shared(const std::string& name) { return read_file(std::string(kSourceDir) + "/share/megalith/" + name); }

// A query of a panel, with each variable set to "all", and the names of its curves.
struct Query {
  std::string expr, legend;
};

std::vector<Query> dashboard_queries() {
  std::vector<Query> queries;
  const auto dashboard = nlohmann::json::parse(shared("grafana-dashboard.json"));
  for (const auto& panel : dashboard.at("panels"))
    for (const auto& target : panel.value("targets", nlohmann::json::array()))
      queries.push_back(
          {std::regex_replace(target["expr"].get<std::string>(), std::regex(R"(\$(job_name|Hostname))"), ".*"),
           target["legendFormat"].get<std::string>()});
  return queries;
}

// The values of each label of a metric in a scrape.
std::map<std::string, std::set<std::string>> labels_in(const std::string& scrape, const std::string& metric) {
  std::map<std::string, std::set<std::string>> labels;
  const std::regex label(R"re((\w+)="([^"]*)")re");
  for (size_t at = 0; (at = scrape.find("\n" + metric + "{", at)) != std::string::npos; ++at) {
    const std::string series = scrape.substr(at + 1, scrape.find('}', at) - at);
    for (std::sregex_iterator it(series.begin(), series.end(), label), end; it != end; ++it)
      labels[(*it)[1]].insert((*it)[2]);
  }
  return labels;
}

std::set<std::string> metrics_in(const std::string& text) {
  std::set<std::string> names;
  const std::regex name(R"((megatron:|nccl:|megalith_|DCGM_)\w+)");
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) names.insert(it->str());
  return names;
}

// A GPU that reports all NVML values.
class AnyGpu final : public GpuSignals {
 public:
  GpuReading read() override {
    return {
        .watts = 500, .sm_clock_mhz = 1900, .celsius = 60, .throttle = 4, .corrected = 1, .uncorrected = 0, .xid = 79};
  }
};

// The scrape at the end of a short run of two data-parallel ranks. Empty if the build has no endpoint.
std::string scrape_of_a_run() {
  const std::unique_ptr<Endpoint> endpoint = endpoint_of_a_run();
  if (!endpoint) return {};
  const TempFolder folder("dashboard");
  const Options o =
      options_for(2,
                  "--train-iters 10 --log-interval 1 --split 80,10,10 --eval-interval 5 --eval-iters 1 "
                  "--save-interval 5 --log-straggler --log-rank-losses --bf16 --fp8-format hybrid --prometheus-port 0 "
                  "--save " +
                      folder.path.string());
  const auto gpu = tell_gpu(std::make_unique<AnyGpu>(), *endpoint, 0.01);
  testing::internal::CaptureStdout();
  harness::run_ranks(2, [&](Ranks& ranks) {
    const auto backend = make_cpu_backend(&ranks);
    Opened run = open_run(o, *backend, ranks);
    TrainingRun(o, *backend, ranks, std::move(run), ranks.rank() == 0 ? endpoint.get() : nullptr).train();
  });
  testing::internal::GetCapturedStdout();
  return http_get(endpoint->port(), "/metrics");
}

double value_of(const std::string& scrape, const std::string& series) {
  const size_t at = scrape.find("\n" + series);
  return at == std::string::npos ? NAN : std::stod(scrape.substr(scrape.find("} ", at) + 2));
}

TEST(Dashboard, AsksForWhatARunTells) {
  const std::string scrape = scrape_of_a_run();
  if (scrape.empty()) GTEST_SKIP() << "this build has no prometheus-cpp";
  std::string asked = shared("prometheus-rules.yml");
  for (const Query& query : dashboard_queries()) asked += "\n" + query.expr;
  const std::set<std::string> metrics = metrics_in(asked);
  ASSERT_GT(metrics.size(), 45u);
  const std::string counters = shared("dcgm-counters.csv");
  for (const std::string& metric : metrics) {
    const bool is_gpu = metric.starts_with("DCGM_");
    EXPECT_NE(is_gpu ? counters.find("\n" + metric + ",") : scrape.find("\n" + metric + "{"), std::string::npos)
        << metric;
  }
  EXPECT_EQ(value_of(scrape, "megalith_iteration{"), 10);
  EXPECT_EQ(value_of(scrape, "megalith_checkpoint_last_iteration{"), 10);
  EXPECT_GE(value_of(scrape, "nccl:allreduce_seconds_count{"), 10);  // at least one per step
  EXPECT_GT(value_of(scrape, "nccl:allreduce_seconds_sum{"), 0);
  EXPECT_NE(scrape.find("rank=\"1\""), std::string::npos);  // from --log-straggler
}

// Two curves of a panel have different names: a name has each label whose values differ, also between runs.
TEST(Dashboard, NamesItsCurvesApart) {
  const std::string scrape = scrape_of_a_run();
  if (scrape.empty()) GTEST_SKIP() << "this build has no prometheus-cpp";
  size_t labels = 0;
  for (const Query& query : dashboard_queries()) {
    const bool is_ours = query.expr.find("job_name") != std::string::npos;
    EXPECT_NE(query.legend.find(is_ours ? "{{job_name}}" : "{{Hostname}}"), std::string::npos) << query.legend;
    const bool is_sum = query.expr.find("sum by") != std::string::npos;
    for (const std::string& metric : metrics_in(is_sum ? "" : query.expr))
      for (const auto& [label, values] : labels_in(scrape, metric)) {
        if (values.size() < 2 || query.expr.find(label + "=\"") != std::string::npos) continue;
        EXPECT_NE(query.legend.find("{{" + label + "}}"), std::string::npos) << query.expr << ": " << label;
        ++labels;
      }
  }
  EXPECT_GE(labels, 6u);
}

// A label of --prometheus-labels must not replace one of a series.
TEST(Dashboard, LabelsOfSeriesAreNotForUsers) {
  const std::string scrape = scrape_of_a_run();
  if (scrape.empty()) GTEST_SKIP() << "this build has no prometheus-cpp";
  std::set<std::string> labels;
  const std::regex label(R"re([{,](\w+)=")re");
  for (std::sregex_iterator it(scrape.begin(), scrape.end(), label), end; it != end; ++it) labels.insert((*it)[1]);
  EXPECT_GT(labels.size(), 10u);
  for (const std::string& name : labels) EXPECT_THROW(labels_of(name + "=x"), Error) << name;
  EXPECT_EQ(labels_of("team=x").size(), 1u);
}

// The exported memory of phases must equal the plan's, to the byte (tests/train/phase_memory_test.cpp runs it).
TEST(Dashboard, ShowsThePlansPeaks) {
  std::unique_ptr<Endpoint> endpoint = endpoint_of_a_run();
  if (!endpoint) GTEST_SKIP() << "this build has no prometheus-cpp";
  const Options o = options_for(1, "--train-iters 2 --bf16");
  testing::internal::CaptureStdout();
  const auto backend = make_cpu_backend();
  const auto ranks = join(Place{});
  Opened run = open_run(o, *backend, *ranks);
  const PhaseMemory plan = phase_memory(run.step->plan);
  const i64 arena = run.step->plan.arena_bytes;
  TrainingRun(o, *backend, *ranks, std::move(run), endpoint.get()).train();
  testing::internal::GetCapturedStdout();
  const std::string scrape = http_get(endpoint->port(), "/metrics");
  const auto told = [&](const std::string& category) {
    const size_t at = scrape.find("category=\"" + category + "\"");
    return at == std::string::npos ? -1 : i64(std::stod(scrape.substr(scrape.find("} ", at) + 2)));
  };
  EXPECT_EQ(told("peak_forward"), plan.forward);
  EXPECT_EQ(told("peak_backward"), plan.backward);
  EXPECT_EQ(told("peak_update"), plan.update);
  EXPECT_EQ(told("arena"), arena);
  EXPECT_LE(std::max({plan.forward, plan.backward, plan.update}), arena);
}

// promtool checks the queries as expressions of recording rules.
TEST(Dashboard, AsksInPromQL) {
  const std::string promtool = prometheus_tool("promtool");
  if (promtool.empty()) GTEST_SKIP() << "needs promtool (scripts/install-prometheus)";
  const TempFolder folder("dashboard_queries");
  const std::vector<Query> queries = dashboard_queries();
  ASSERT_GT(queries.size(), 45u);
  std::string rules = "groups:\n- name: queries\n  rules:\n";
  for (size_t i = 0; i < queries.size(); ++i)
    rules += fmt::format("  - {{record: 'q{}', expr: {}}}\n", i, nlohmann::json(queries[i].expr).dump());
  write_file(folder.path / "queries.yml", rules);
  const ToolRan ran = run_shell(promtool + " check rules " + (folder.path / "queries.yml").string());
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_NE(ran.text.find(fmt::format("{} rules found", queries.size())), std::string::npos) << ran.text;
}

}  // namespace
}  // namespace megalith
