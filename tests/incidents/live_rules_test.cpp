// A live Prometheus scrapes a real run of two ranks. Four of the users' alert rules must fire on injected faults. The
// fifth, for fp8, is in tests/observe/fp8_rule_test.cpp.
#include <fmt/ranges.h>

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

const std::set<std::string> kFourRules{"MegatronGradNormSpike", "MegatronIterationTimeRegression",
                                       "MegatronNCCLAllReduceP99", "MegatronTFLOPsCollapse"};

// What Prometheus said during a course.
struct Seen {
  std::set<std::string> firing{}, too_early{};  // too_early: before the first iteration with faults
  double last = 0;                              // last iteration of a scrape
  std::string about;

  // All rules fire. The gradients' rule waits for the faults, and so does the all-reduces'.
  bool right() const {
    return firing == kFourRules && !too_early.contains("MegatronGradNormSpike") &&
           !too_early.contains("MegatronNCCLAllReduceP99");
  }
};

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
  static Seen watch(const std::string& prometheus, const std::string& dir);
};

Seen LiveRules::watch(const std::string& prometheus, const std::string& dir) {
  const Ran tried = train("--train-iters 30", {.ranks = 2});
  const double own = usual_iteration(tried.out);
  if (!tried.ok() || !(own > 0)) return {.about = tried.out + tried.err};
  const Course course(std::max(1e-3, own));
  const int port = free_port();
  std::filesystem::create_directories(dir);
  const LivePrometheus server(prometheus, dir,
                              shortened(slurp(std::string(kSourceDir) + "/tests/observe/users_rules.yml")), port);
  Seen seen;
  double looked = 0;  // time of the last look
  RunLimits limits{.seconds = 200, .ranks = 2};
  limits.kill = [&] {
    if (steady_seconds() < looked + 0.3) return false;
    looked = steady_seconds();
    const double iteration = value_in_scrape(http_get(port, "/metrics"), "megalith_iteration");
    for (const std::string& name : alerts(server.port(), "firing")) {
      seen.firing.insert(name);
      if (iteration < course.first) seen.too_early.insert(name);
    }
    if (iteration > 0) seen.last = iteration;
    return seen.firing == kFourRules || seen.last > course.first + Course::kFaults;
  };
  train(
      fmt::format("--train-iters 100000 --prometheus-address 127.0.0.1 --prometheus-port {}{}", port, course.faults()),
      limits);
  seen.about = fmt::format(
      "{} s an iteration alone, faults from iteration {}, last scrape {}; firing: {}; too early: {}\n{}", own,
      course.first, seen.last, fmt::join(seen.firing, " "), fmt::join(seen.too_early, " "), server.log());
  return seen;
}

TEST_F(LiveRules, FireOnFaultsInARealRun) {
  const std::string prometheus = prometheus_tool("prometheus");
  if (prometheus.empty()) GTEST_SKIP() << "needs prometheus (scripts/install-prometheus)";
  if (!endpoint_of_a_run()) GTEST_SKIP() << "this build has no prometheus-cpp";
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  // Two rules compare times. Other load of this machine may slow the iterations before the faults as much as the
  // faults do. So a second and a third course may follow the first one.
  Seen seen;
  std::string about;
  for (int course = 0; course < 3 && !seen.right(); ++course) {
    seen = watch(prometheus, *this / fmt::format("prometheus{}", course));
    about += seen.about;
  }
  EXPECT_TRUE(seen.right()) << about;
}

}  // namespace
}  // namespace megalith::test
