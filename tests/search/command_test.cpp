// The printed command: it parses, and a dry run of it has the bytes of the table.
#include "search/command.h"

#include <gtest/gtest.h>

#include "exec/sim/paper_backend.h"
#include "search_case.h"
#include "settings/schedules.h"
#include "step/pipeline.h"

namespace megalith::search {
namespace {

// As --dry-run of these words counts.
i64 dry_run_bytes(const std::vector<std::string>& words, i64 gpus) {
  std::string line;
  for (const std::string& word : words) line += word + " ";
  const Options o = options_of(line + fmt::format("--train-iters 10 --lr 1e-4 --eval-iters 0 --dry-run --world-size {} "
                                                  "--device h100",
                                                  gpus));
  const auto backend = sim::make_paper_backend(find_facts("h100"));
  const PlannedStep step = plan_step(step_spec(o, 0), *backend);
  backend->connect(step.plan, Coord{}, links_of(step, Coord{}));
  StagePlans plans(o, *backend, &step);
  return fullest_stage(plans, false).need.total();
}

}  // namespace

TEST(Command, a_dry_run_of_it_has_the_same_bytes) {
  const std::string mixture = "--num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 512 ";
  for (const std::string& flags :
       {std::string(), std::string("--pipeline-model-parallel-size 4 "),
        std::string("--num-layers 10 --pipeline-model-parallel-size 4 --recompute-granularity full "),
        std::string("--tensor-model-parallel-size 2 --context-parallel-size 2 --cp-comm-type p2p "),
        std::string("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2 "),
        std::string("--overlap-grad-reduce --tensor-model-parallel-size 4 "),
        mixture + "--expert-model-parallel-size 2 "}) {
    const Options base = base_of(kSmall + flags);
    Searcher searcher(base, find_facts("h100"));
    const Outcome found = searcher.run({.gpus = 8, .top = 4});
    ASSERT_FALSE(found.best.empty()) << flags;
    for (const Found& f : found.best)
      EXPECT_EQ(dry_run_bytes(words_of_run(base, f.choice, {.gpus = 8}), 8), f.price.fullest.need.total())
          << flags << to_string(f.choice);
  }
}

TEST(Command, keeps_the_users_flags_and_quotes_what_a_shell_would_read) {
  Options base = base_of(std::string(kSmall) + "--tokenizer-model $HOME/x");
  const std::string line = command_of(base, {.tp = 2, .micro_batch = 1}, {.gpus = 16, .tokens = 1024e3});
  EXPECT_NE(line.find("torchrun --no-python --nnodes 2 --nproc-per-node 8"), line.npos) << line;
  EXPECT_NE(line.find("--swiglu"), line.npos) << line;
  EXPECT_NE(line.find("--tokenizer-model '$HOME/x'"), line.npos) << line;
  EXPECT_NE(line.find("--train-samples 1000"), line.npos) << line;
  EXPECT_EQ(still_missing(base, {.gpus = 16, .tokens = 1e6}), "--lr, --data-path");
}

}  // namespace megalith::search
