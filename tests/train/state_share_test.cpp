// Compares the planned bytes of a rank's save with the bytes that it saves.
#include <gtest/gtest.h>

#include "exec/cpu/backend.h"
#include "options_helpers.h"
#include "resume/state_save.h"
#include "settings/schedules.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {
namespace {

// The largest share of any rank, and the planned share.
std::pair<i64, i64> shares(int ranks, const std::string& more) {
  std::vector<i64> own(static_cast<size_t>(ranks));
  i64 planned = 0;
  harness::run_ranks(ranks, [&](Ranks& here) {
    Options options = read_line(std::string(kSmallRun) + "--vocab-size 131 " + more);
    options.data.eod = 130, options.data.seq_length = 32, options.data.vocab_size = 131;
    options.parallel.world_size = ranks;
    finish_options(options);
    const auto backend = make_cpu_backend(&here);
    const PlannedStep step = plan_step(step_spec(options), *backend);
    const Coord coord = step.plan.mesh.coord(here.rank());
    const auto interpreter = backend->make_interpreter(step.plan, coord);
    const ModelState model(step, *interpreter, coord);
    const StateShare share = largest_share(options.train);
    own[size_t(here.rank())] = StateBlocks(model, share, false).bytes();
    if (here.rank() == 0) planned = state_share_bytes(step, share);
  });
  return {*std::max_element(own.begin(), own.end()), planned};
}

}  // namespace

// The ranks do not divide the rows evenly. Another rank may have the additional row of each tensor. The plan counts the
// maximum for each tensor.
TEST(StateShare, IsPlanned) {
  for (const auto& [ranks, more] : std::vector<std::pair<int, std::string>>{
           {1, ""},
           {2, ""},
           {3, "--global-batch-size 6"},
           {5, "--global-batch-size 10"},
           {4, "--hidden-size 36 --ffn-hidden-size 101 --swiglu --global-batch-size 8"},
           {4, "--tensor-model-parallel-size 2"},
           {3, "--use-distributed-optimizer --global-batch-size 6"},
           {4, "--use-distributed-optimizer --tensor-model-parallel-size 2"},
           {3, "--no-ckpt-fully-parallel-save --global-batch-size 6"}}) {
    const auto [largest, planned] = shares(ranks, more);
    EXPECT_LE(largest, planned) << ranks << " ranks " << more;
    EXPECT_GE(double(largest), 0.85 * double(planned)) << ranks << " ranks " << more;
  }
}

}  // namespace megalith
