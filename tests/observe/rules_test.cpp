// Tests of the alert rules with promtool, and of the users' five rules in a live Prometheus.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "http.h"
#include "observe/endpoint.h"
#include "prometheus_tools.h"
#include "tests/places.h"
#include "tests/train/files.h"

namespace megalith {
namespace {

std::string source(const std::string& path) { return std::string(kSourceDir) + "/" + path; }
const std::string kRules = "share/megalith/prometheus-rules.yml";

// The rules file must contain the users' rules unchanged.
TEST(Rules, HoldTheUsersFive) {
  const std::string all = read_file(source(kRules)), users = read_file(source("tests/observe/users_rules.yml"));
  ASSERT_EQ(std::ranges::count(users, '\n'), 38);
  EXPECT_NE(all.find(users), std::string::npos);
}

TEST(Rules, FireAsPromtoolTriesThem) {
  const std::string promtool = prometheus_tool("promtool");
  if (promtool.empty()) GTEST_SKIP() << "needs promtool (scripts/install-prometheus)";
  const TempFolder folder("rules");
  for (const std::string& file : {kRules, std::string("tests/observe/rules_test.yml")})
    std::filesystem::copy(source(file), folder.path);
  const std::string in_folder = "cd " + folder.path.string() + " && " + promtool;
  const ToolRan checked = run_shell(in_folder + " check rules prometheus-rules.yml");
  EXPECT_EQ(checked.status, 0) << checked.text;
  EXPECT_NE(checked.text.find("13 rules found"), std::string::npos) << checked.text;
  const ToolRan tried = run_shell(in_folder + " test rules rules_test.yml");
  EXPECT_EQ(tried.status, 0) << tried.text;
}

// Feeds an endpoint: normal values for `until` seconds, then bad values.
class Feeder {
 public:
  Feeder(Endpoint& to, double until)
      : thread_([this, &to, until] {
          const double began = steady_seconds();
          while (!stops_) {
            const double bad = std::max(0.0, steady_seconds() - began - until), worse = std::exp2(bad);
            to.set("megatron:iteration_time_seconds", worse);
            to.set("megatron:grad_norm", worse);
            to.set("megatron:tflops_per_gpu", 400 / worse);
            to.set("megatron:fp8_amax_history_max", bad > 0 ? 440 : 40);
            to.set("megatron:fp8_amax_history_threshold", 448);
            for (int i = 0; i < 10; ++i) to.observe("nccl:allreduce_seconds", bad > 0 ? 0.4 : 0.004);
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          }
        }) {}
  ~Feeder() { stops_ = true, thread_.join(); }

 private:
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

TEST(Rules, UsersFiveFireInALivePrometheus) {
  const std::string prometheus = prometheus_tool("prometheus");
  if (prometheus.empty()) GTEST_SKIP() << "needs prometheus (scripts/install-prometheus)";
  const std::unique_ptr<Endpoint> endpoint = endpoint_of_a_run();
  if (!endpoint) GTEST_SKIP() << "this build has no prometheus-cpp";
  const TempFolder folder("live_prometheus");
  const Feeder feeder(*endpoint, 14);
  const LivePrometheus server(prometheus, folder.path.string(),
                              shortened(read_file(source("tests/observe/users_rules.yml"))), endpoint->port());
  const std::set<std::string> all{"MegatronFP8AmaxSaturation", "MegatronGradNormSpike",
                                  "MegatronIterationTimeRegression", "MegatronNCCLAllReduceP99",
                                  "MegatronTFLOPsCollapse"};
  std::set<std::string> firing;
  const double began = steady_seconds();
  for (; firing != all && steady_seconds() < began + 90; std::this_thread::sleep_for(std::chrono::milliseconds(500))) {
    const std::set<std::string> now = alerts(server.port(), "firing");
    firing.insert(now.begin(), now.end());
    if (steady_seconds() < began + 12) EXPECT_TRUE(now.empty()) << *now.begin();  // the values are still normal
  }
  EXPECT_EQ(firing, all) << server.log();
}

}  // namespace
}  // namespace megalith
