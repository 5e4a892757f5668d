// A pipeline prepares its programs before the first step. So no rank waits for another's one-time work.
#include <gtest/gtest.h>

#include <set>

#include "exec/cpu/backend.h"
#include "options_helpers.h"
#include "tests/harness/thread_ranks.h"
#include "tests/harness/wrapped_backend.h"
#include "tests/harness/wrapped_interpreter.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

using Runs = std::set<std::tuple<int, bool, int>>;

struct Told {
  Runs ready, ran;
  bool late = false;  // a program was prepared after the first run
};

class ReadyInterpreter final : public test::WrappedInterpreter {
 public:
  ReadyInterpreter(std::unique_ptr<Interpreter> real, Told& told) : WrappedInterpreter(std::move(real)), told_(told) {}
  void make_ready(int program, bool first, int slot) override {
    told_.ready.insert({program, first, slot});
    told_.late |= !told_.ran.empty();
  }
  void run(int program, bool first, int slot) override {
    told_.ran.insert({program, first, slot});
    real_->run(program, first, slot);
  }

 private:
  Told& told_;
};

class ReadyBackend final : public test::WrappedBackend {
 public:
  explicit ReadyBackend(Ranks& ranks) : WrappedBackend(make_cpu_backend(&ranks)) {}
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return std::make_unique<ReadyInterpreter>(real_->make_interpreter(plan, coord), told);
  }
  mutable Told told;
};

// Runs a pipeline of `ranks` stages. It trains with this many micro-batches and evaluates with more.
void expect_all_ready(int ranks, int micro_batches, const std::string& more) {
  testing::internal::CaptureStdout();
  harness::run_ranks(ranks, [&](Ranks& here) {
    Options options =
        read_line(std::string(kSmallRun) + "--num-layers 4 --vocab-size 101 --no-progress --eval-interval 5 " +
                  "--eval-iters 3 --global-batch-size " + std::to_string(2 * micro_batches) +
                  " --pipeline-model-parallel-size " + std::to_string(ranks) + " " + more);
    options.data.eod = 100, options.data.seq_length = 32, options.data.vocab_size = 101;
    options.parallel.world_size = ranks;
    finish_options(options);
    const ReadyBackend backend(here);
    pretrain(options, backend, here);
    const Told& told = backend.told;
    EXPECT_FALSE(told.late);
    EXPECT_GT(told.ran.size(), 3u);
    for (const auto& [program, first, slot] : told.ran)
      EXPECT_TRUE(told.ready.contains({program, first, slot}))
          << "rank " << here.rank() << ", program " << program << ", first " << first << ", slot " << slot;
  });
  testing::internal::GetCapturedStdout();
}

}  // namespace

TEST(Ready, OfAPipeline) { expect_all_ready(2, 4, ""); }
TEST(Ready, EvaluationHasMoreMicroBatches) { expect_all_ready(4, 1, ""), expect_all_ready(4, 4, ""); }
TEST(Ready, OfPiecesAndSplitWeights) {
  expect_all_ready(2, 4, "--num-virtual-stages-per-pipeline-rank 2 --pipeline-schedule zero-bubble");
}

}  // namespace megalith
