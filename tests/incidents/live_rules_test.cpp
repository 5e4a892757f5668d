// A live Prometheus scrapes a real run of two ranks. Four of the users' alert rules must fire on injected faults. The
// fifth, for fp8, is in tests/observe/fp8_rule_test.cpp.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/clock.h"
#include "tests/cli/workshop.h"
#include "tests/observe/http.h"
#include "tests/observe/prometheus_tools.h"
#include "tests/places.h"

namespace megalith::test {
namespace {

// The run first has about 0.1 s an iteration for 16 s, then 1.5 s an iteration. `own`: seconds that an iteration takes
// on this machine. If the load falls by a factor of 6 later, the all-reduces still wait longer than the rule allows.
struct Course {
  explicit Course(double own)
      : normal(std::max(1, int(0.1 / own))), slow(std::max(10, int(1.5 / own))), first(2 + int(16 / (own * normal))) {}
  int normal, slow;  // slowdown factors of rank 1
  int first;         // the first iteration with faults
  static constexpr int kFaults = 40;

  // Rank 1 becomes slow. So iterations take long, all GPUs have fewer TFLOP/s, and the all-reduce of rank 0 waits. In
  // the same iterations the highest exponent bit of a gradient flips.
  std::string faults() const {
    std::string text = fmt::format(" --inject-allowed --inject slow@1:2:{}:steps={} slow@1:{}:{}:steps={}", normal,
                                   first - 2, first, slow, kFaults);
    for (int i = first; i < first + kFaults; ++i) text += fmt::format(" flip@0:{}:grad:element=1", i);
    return text;
  }
};

// The lower quartile of iterations' seconds: other tests load the machine now and then.
double usual_iteration(const std::string& log) {
  constexpr std::string_view kLabel = "elapsed time per iteration (ms): ";
  std::vector<double> all;
  for (size_t at = 0; (at = log.find(kLabel, at)) != std::string::npos; at += kLabel.size())
    all.push_back(std::atof(log.c_str() + at + kLabel.size()) / 1e3);
  std::ranges::sort(all);
  return all.empty() ? NAN : all[all.size() / 4];
}

double value_in_scrape(const std::string& scrape, const std::string& series) {
  const size_t at = scrape.find("\n" + series + "{");
  return at == std::string::npos ? NAN : std::stod(scrape.substr(scrape.find("} ", at) + 2));
}

class LiveRules : public Workshop {
 protected:
  static Ran train(const std::string& more, const RunLimits& limits) {
    return megalith(
        "pretrain-gpt --num-layers 2 --hidden-size 64 --num-attention-heads 2 --seq-length 64 --micro-batch-size 2 "
        "--global-batch-size 4 --mock-data --vocab-size 300 --lr 1e-4 --eval-iters 0 --no-progress --log-interval 1 "
        "--spike-threshold 0 " +
            more,
        limits);
  }
};

TEST_F(LiveRules, FireOnFaultsInARealRun) {
  const std::string prometheus = prometheus_tool("prometheus");
  if (prometheus.empty()) GTEST_SKIP() << "needs prometheus (scripts/install-prometheus)";
  if (!endpoint_of_a_run()) GTEST_SKIP() << "this build has no prometheus-cpp";
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  const Ran tried = train("--train-iters 30", {.ranks = 2});
  ASSERT_EQ(tried.exit_code, 0) << tried.err;
  const double own = usual_iteration(tried.out);
  ASSERT_GT(own, 0) << tried.out;
  const Course course(std::max(1e-3, own));
  const int port = free_port();
  const std::string rules = slurp(std::string(kSourceDir) + "/tests/observe/users_rules.yml");
  std::filesystem::create_directories(*this / "prometheus");
  const LivePrometheus server(prometheus, *this / "prometheus", shortened(rules), port);
  const std::set<std::string> all{"MegatronGradNormSpike", "MegatronIterationTimeRegression",
                                  "MegatronNCCLAllReduceP99", "MegatronTFLOPsCollapse"};
  std::set<std::string> firing, too_early;
  double last = 0, looked = 0;  // last iteration; time of the last look
  RunLimits limits{.seconds = 170, .ranks = 2};
  limits.kill = [&] {
    if (steady_seconds() < looked + 0.3) return false;
    looked = steady_seconds();
    const double iteration = value_in_scrape(http_get(port, "/metrics"), "megalith_iteration");
    for (const std::string& name : alerts(server.port(), "firing")) {
      firing.insert(name);
      if (iteration < course.first) too_early.insert(name);
    }
    if (iteration > 0) last = iteration;
    return firing == all || last > course.first + Course::kFaults;
  };
  train(
      fmt::format("--train-iters 100000 --prometheus-address 127.0.0.1 --prometheus-port {}{}", port, course.faults()),
      limits);
  EXPECT_EQ(firing, all) << "from iteration " << course.first << " up to " << last << "\n" << server.log();
  // The load of this machine changes the time of an iteration, but not these metrics.
  EXPECT_FALSE(too_early.contains("MegatronGradNormSpike"));
  EXPECT_FALSE(too_early.contains("MegatronNCCLAllReduceP99"));
}

}  // namespace
}  // namespace megalith::test
