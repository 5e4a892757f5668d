// A live Prometheus scrapes a real run and evaluates the users' fp8 rule. The rule must fire only after faults are
// injected.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <thread>

#include "base/clock.h"
#include "exec/cpu/backend.h"
#include "http.h"
#include "observe/endpoint.h"
#include "prometheus_tools.h"
#include "tests/places.h"
#include "tests/train/small_run.h"
#include "train/training_run.h"

namespace megalith {
namespace {

constexpr int kFirst = 120, kSteps = 200;  // the iterations with faults: 20 s, as a busy machine fires late

// Before each step an exponent bit of two layers' weights flips, up in one layer and down in the other. So the values
// of one layer, alternately, are 256 times what its scales allow. Steps are slow, so that several scrapes see the run
// before the faults. The condition lasts until the rule can fire.
std::string faults() {
  std::string text = fmt::format("--inject-allowed --inject slow@0:20:10:steps={} slow@0:{}:100:steps={}", kFirst - 20,
                                 kFirst, kSteps);
  for (int i = kFirst; i < kFirst + kSteps; ++i)
    for (const int layer : {0, 1})
      if (i > kFirst || layer == 0)
        text +=
            fmt::format(" flip@0:{}:weight:name=decoder.layers.{}.mlp.linear_fc2.weight:bit=10:element=2", i, layer);
  return text;
}

double series_value(const std::string& scrape, const std::string& series) {
  const size_t at = scrape.find("\n" + series + "{");
  return at == std::string::npos ? NAN : std::stod(scrape.substr(scrape.find("} ", at) + 2));
}

TEST(Rules, Fp8FiresOnFaultsInARealRun) {
  const std::string prometheus = prometheus_tool("prometheus");
  if (prometheus.empty()) GTEST_SKIP() << "needs prometheus (scripts/install-prometheus)";
  const std::unique_ptr<Endpoint> endpoint = endpoint_of_a_run();
  if (!endpoint) GTEST_SKIP() << "this build has no prometheus-cpp";
  const TempFolder folder("fp8_rule");
  const std::string users = read_file(std::string(kSourceDir) + "/tests/observe/users_rules.yml");
  const size_t group = users.find("  - alert:"), rule = users.find("  - alert: MegatronFP8AmaxSaturation");
  const LivePrometheus server(prometheus, folder.path.string(), shortened(users.substr(0, group) + users.substr(rule)),
                              endpoint->port());
  const Options o = options_for(1,
                                "--train-iters 100000 --lr-decay-style constant --bf16 --fp8-format hybrid "
                                "--fp8-margin 2 --prometheus-port 0 " +
                                    faults());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();  // the run prints the spikes on stderr
  std::thread training([&] {
    const auto backend = make_cpu_backend();
    const auto ranks = join(Place{});
    TrainingRun(o, *backend, *ranks, open_run(o, *backend, *ranks), endpoint.get()).train();
  });
  double highest = 0, fired_at = 0;  // highest ratio before the faults; iteration at which the rule fired
  const double began = steady_seconds();
  for (; fired_at == 0 && steady_seconds() < began + 120; std::this_thread::sleep_for(std::chrono::milliseconds(300))) {
    const std::string scrape = http_get(endpoint->port(), "/metrics");
    const double iteration = series_value(scrape, "megalith_iteration");
    const double ratio = series_value(scrape, "megatron:fp8_amax_history_max") /
                         series_value(scrape, "megatron:fp8_amax_history_threshold");
    if (iteration < kFirst && ratio > highest) highest = ratio;
    if (alerts(server.port(), "firing").contains("MegatronFP8AmaxSaturation")) fired_at = iteration;
  }
  kill(getpid(), SIGTERM);  // the run ends at its next check
  training.join();
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  EXPECT_GE(fired_at, kFirst) << server.log();
  EXPECT_LE(fired_at, kFirst + kSteps);
  EXPECT_GT(highest, 0.1);
  EXPECT_LT(highest, 0.95);
}

}  // namespace
}  // namespace megalith
