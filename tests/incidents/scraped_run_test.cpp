// A real run is scraped a thousand times a second. The scrapes take no time of the training thread, and no memory.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "tests/cli/processes.h"
#include "tests/cli/workshop.h"
#include "tests/observe/http.h"
#include "tests/observe/prometheus_tools.h"
#include "tests/scrape_load/scrape_load.h"

namespace megalith::test {
namespace {

constexpr i64 kMiB = 1 << 20;

// What the training thread has used, at the end of a step.
struct Mark {
  double cpu = 0;  // seconds
  i64 waits = 0;   // voluntary context switches
  i64 steps = 0;
};

// Of one step, in a window of time.
struct StepCost {
  double cpu = 0, waits = 0;
};

double least(const std::vector<StepCost>& all, double StepCost::*what) {
  double x = 1e300;
  for (const StepCost& cost : all) x = std::min(x, cost.*what);
  return x;
}

class ScrapedRun : public Workshop {
 protected:
  void SetUp() override {
    if (!endpoint_of_a_run()) GTEST_SKIP() << "this build has no prometheus-cpp";
  }

  // Trains until `watch` returns. One thread computes: of two, one waits for the other where scrapes take its core.
  void train(const std::function<void()>& watch) {
    setenv("OMP_NUM_THREADS", "1", 1);  // the run inherits it
    RunLimits limits;
    bool is_done = false;
    limits.kill = [&] {
      if (is_done || lines() < 10) return is_done;
      const std::vector<pid_t> runs = processes_with(metrics_);
      if (runs.size() == 1) pid_ = runs[0], watch();
      return is_done = true;
    };
    const Ran ran =
        megalith(fmt::format("pretrain-gpt --num-layers 2 --hidden-size 64 --num-attention-heads 2 --seq-length 64 "
                             "--micro-batch-size 2 --mock-data --vocab-size 300 --lr 1e-4 --eval-iters 0 --no-progress "
                             "--log-interval 1 --train-iters 1000000 --metrics-file {} --prometheus-address 127.0.0.1 "
                             "--prometheus-port {}",
                             metrics_, port_),
                 limits);
    unsetenv("OMP_NUM_THREADS");
    EXPECT_GT(pid_, 0) << ran.out << ran.err;
  }

  i64 lines() const {
    const std::string text = slurp(metrics_);
    return std::ranges::count(text, '\n');
  }
  i64 status(const char* file, const std::string& key) const {
    const std::string text = slurp(fmt::format("/proc/{}/{}", pid_, file));
    const size_t at = text.find("\n" + key + ":");
    return at == std::string::npos ? -1 : std::atoll(text.c_str() + at + key.size() + 2);
  }
  i64 resident() const { return status("status", "VmRSS") * 1024; }

  // Waits until the run has written the records of all steps so far.
  Mark mark() const {
    std::error_code error;
    const auto size = std::filesystem::file_size(metrics_, error);
    while (std::filesystem::file_size(metrics_, error) == size) usleep(100);
    Mark m;
    std::ifstream(fmt::format("/proc/{0}/task/{0}/schedstat", pid_)) >> m.cpu;
    m.cpu *= 1e-9;
    m.waits = status(fmt::format("task/{}/status", pid_).c_str(), "voluntary_ctxt_switches");
    m.steps = lines();
    return m;
  }
  StepCost cost(double seconds) const {
    const Mark a = mark();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const Mark b = mark();
    const double steps = double(b.steps - a.steps);
    return {(b.cpu - a.cpu) / steps, double(b.waits - a.waits) / steps};
  }

  const std::string metrics_ = *this / "metrics.jsonl";
  const int port_ = free_port();
  pid_t pid_ = 0;
};

// The test compares CPU time and waits of one thread, because other programs change the wall time of a step. The least
// of many windows is compared, because a core is slower while its other hardware thread works. Threads share malloc's
// arenas, so an allocation of the training thread sometimes waits for a scrape's: 0.1 times a step of 7 ms, and never
// with an arena for each thread. If each of the seven scrapes of such a step held it up, it would wait several times.
TEST_F(ScrapedRun, ScrapesCostTheTrainingThreadNothing) {
  constexpr size_t kWindows = 12, kMostWindows = 60;             // more where others use the cores
  constexpr double kSeconds = 0.2, kSlack = 1.15, kWaits = 0.2;  // waits of a step
  std::vector<StepCost> quiet, scraped;
  i64 answers = 0, failures = 0;
  const auto holds = [&] {
    return least(scraped, &StepCost::cpu) < kSlack * least(quiet, &StepCost::cpu) &&
           least(scraped, &StepCost::waits) < least(quiet, &StepCost::waits) + kWaits;
  };
  train([&] {
    while (quiet.size() < kWindows || (quiet.size() < kMostWindows && !holds())) {
      quiet.push_back(cost(kSeconds));
      ScrapeLoad load(port_, 1000);
      scraped.push_back(cost(kSeconds));
      const ScrapeCounts counts = load.stop();
      answers += counts.answers, failures += counts.failures;
    }
  });
  EXPECT_GT(answers, 0);
  EXPECT_EQ(failures, 0);
  EXPECT_LT(least(scraped, &StepCost::cpu), kSlack * least(quiet, &StepCost::cpu));
  EXPECT_LT(least(scraped, &StepCost::waits), least(quiet, &StepCost::waits) + kWaits);
}

// Half of the scrapes of a second would need more than this if each left its text in memory.
TEST_F(ScrapedRun, ScrapesNeedNoMoreMemory) {
  if (*SANITIZED) GTEST_SKIP() << "sanitizers keep what was freed";
  i64 grown = 0;
  ScrapeCounts counts;
  train([&] {
    ScrapeLoad first(port_, 1000);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_EQ(first.stop().failures, 0);
    const i64 before = resident();
    ScrapeLoad load(port_, 1000);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    counts = load.stop();
    grown = resident() - before;
  });
  EXPECT_GT(counts.answers, 0);
  EXPECT_EQ(counts.failures, 0);
  EXPECT_LT(grown, kMiB);
}

}  // namespace
}  // namespace megalith::test
