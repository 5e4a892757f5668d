// --log-straggler must name a rank that computes slowly, although a step takes the same time on all ranks.
#include "observe/straggler.h"

#include <gtest/gtest.h>

#include <regex>

#include "exec/cpu/backend.h"
#include "options_helpers.h"
#include "tests/harness/thread_ranks.h"
#include "tests/harness/wrapped_backend.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

// A CPU backend that repeats every product of the forward many times. The results are the same, but later.
class SlowBackend final : public test::WrappedBackend {
 public:
  SlowBackend(Ranks& ranks, int times) : WrappedBackend(make_cpu_backend(&ranks)), times_(times) {}
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    slow_ = plan;
    for (Program& p : slow_.programs) {
      std::vector<Instruction> all;
      for (const Instruction& in : p.instructions) {
        const bool again = in.op.name() == "einsum" && in.phase == Phase::forward && in.op.aliases().empty();
        all.insert(all.end(), again ? size_t(times_) : 1, in);
      }
      p.instructions = std::move(all);
    }
    return real_->make_interpreter(slow_, coord);
  }

 private:
  int times_;
  mutable Plan slow_;
};

// The lines of four ranks; rank `slow` repeats its products many times.
std::vector<std::string> reports(const std::string& flags, int slow) {
  testing::internal::CaptureStdout();
  const auto run = [&](Ranks& ranks) {
    Options options = read_line(std::string(kSmallRun) +
                                "--vocab-size 101 --no-progress --global-batch-size 16 --log-interval 5 "
                                "--log-straggler --eval-interval 5 --eval-iters 1 " +
                                flags);
    options.data.eod = 100, options.data.seq_length = 32, options.data.vocab_size = 101;
    options.parallel.world_size = 4;
    finish_options(options);
    pretrain(options, SlowBackend(ranks, ranks.rank() == slow ? 150 : 1), ranks);
  };
  try {
    harness::run_ranks(4, run);
  } catch (const Error& e) {
    ADD_FAILURE() << e.what();
  }
  std::istringstream out(testing::internal::GetCapturedStdout());
  std::vector<std::string> lines;
  for (std::string line; std::getline(out, line);)
    if (line.find("own compute time") != line.npos) lines.push_back(line);
  return lines;
}

struct StragglerReport {
  int slowest = -1, fastest = -1;
  double most = 0, least = 0, median = 0;
};
StragglerReport read(const std::string& line) {
  static const std::regex form(
      R"(.*slowest ([0-9.]+) rank (\d) on \S+ \| fastest ([0-9.]+) rank (\d) on \S+ \| median ([0-9.]+) .*)");
  std::smatch m;
  if (!std::regex_match(line, m, form)) return {};
  return {std::stoi(m[2]), std::stoi(m[4]), std::stod(m[1]), std::stod(m[3]), std::stod(m[5])};
}

class Stragglers : public testing::TestWithParam<const char*> {};

// Each of the four threads prints a line at iterations 1, 5 and 10. The lines of iteration 1 are ignored, because a
// busy machine may delay a single iteration. In every layout here ranks wait for each other within a step.
TEST_P(Stragglers, AreNamed) {
  const std::vector<std::string> lines = reports(GetParam(), 2);
  ASSERT_EQ(lines.size(), 12u);
  for (size_t i = 4; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const StragglerReport told = read(line);
    EXPECT_EQ(told.slowest, 2) << line;
    EXPECT_NE(told.fastest, 2) << line;
    EXPECT_GT(told.most, 3 * told.median) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Stragglers,
                         testing::Values("", "--use-distributed-optimizer --overlap-grad-reduce",
                                         "--tensor-model-parallel-size 4 --sequence-parallel",
                                         "--pipeline-model-parallel-size 2"));

TEST(Stragglers, LineNamesTheEnds) {
  const std::vector<OwnWork> ranks = {
      {0, "a", 0.1000, 2e11}, {1, "a", 0.3000, 9e11}, {2, "b", 0.2000, 2e11}, {3, "b", 0.1500, 1.5e11}};
  EXPECT_EQ(straggler_line(ranks, 1),
            " own compute time per iteration (ms): slowest 300.0 rank 1 on a | fastest 100.0 rank 0 on a | median "
            "200.0 | own throughput (TFLOP/s): lowest 1 rank 2 on b | highest 3 rank 1 on a |");
  EXPECT_EQ(straggler_line(ranks, 2),
            " own compute time per iteration (ms): slowest 300.0 rank 1 on a, 200.0 rank 2 on b | fastest 100.0 rank 0 "
            "on a, 150.0 rank 3 on b | median 200.0 | own throughput (TFLOP/s): lowest 1 rank 2 on b, 1 rank 3 on b | "
            "highest 3 rank 1 on a, 2 rank 0 on a |");
  EXPECT_EQ(straggler_line({ranks[0]}, 8),
            " own compute time per iteration (ms): slowest 100.0 rank 0 on a | fastest 100.0 rank 0 on a | median "
            "100.0 | own throughput (TFLOP/s): lowest 2 rank 0 on a | highest 2 rank 0 on a |");
}

}  // namespace
}  // namespace megalith
