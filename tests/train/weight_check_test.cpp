// Every flipped bit of a weight's replica must be detected under each layout. The message must name the rank.
#include "train/weight_check.h"

#include <gtest/gtest.h>

#include <random>

#include "comm/doubt_codes.h"
#include "exec/cpu/backend.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "step/model_state.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {
namespace {

struct CopyCase {
  int ranks;
  const char* flags;
  const char* doubtful;  // exactly two ranks hold weights with this in their names; more ranks hold the others
};
const CopyCase kCopyCases[] = {{3, "--global-batch-size 6", "none"},
                               {3, "--global-batch-size 6 --bf16", "none"},
                               {3, "--global-batch-size 6 --bf16 --use-distributed-optimizer", "none"},
                               {2, "--global-batch-size 4", ""},
                               {2, "--context-parallel-size 2", ""},
                               {4, "--tensor-model-parallel-size 2 --global-batch-size 4", ""},
                               {4,
                                "--num-experts 4 --expert-model-parallel-size 2 --moe-router-topk 2 "
                                "--global-batch-size 8 --use-distributed-optimizer",
                                "experts"}};
constexpr int kFlips = 100;

struct Flip {
  int rank;
  u64 weight, element, bit;
};

std::vector<Flip> flips_of(int ranks) {
  std::mt19937_64 random{u64(ranks)};
  std::vector<Flip> out;
  for (int i = 0; i < kFlips; ++i) out.push_back({int(random() % u64(ranks)), random(), random(), random()});
  return out;
}

// Flips the bit, or flips it back.
std::string strike(const Flip& f, const PlannedStep& step, Interpreter& interpreter) {
  const Parameter& p = step.parameters[size_t(f.weight % step.parameters.size())];
  const Leaf* main = step.buckets.empty() ? step.plan.find_leaf(p.name + "." + kMainSuffix) : nullptr;
  const Leaf& leaf = main && f.bit >> 32 & 1 ? *main : step.plan.leaf(p.name);
  std::byte* at = interpreter.host_view(leaf) + f.element % u64(leaf.bytes);
  *at ^= std::byte(1 << (f.bit % 8));
  return p.name;
}

}  // namespace

TEST(WeightCheck, NamesEveryFlippedBit) {
  for (const CopyCase& c : kCopyCases) {
    const std::vector<Flip> flips = flips_of(c.ranks);
    std::vector<std::string> names(flips.size());
    testing::internal::CaptureStderr();
    harness::run_ranks(c.ranks, [&](Ranks& here) {
      const Options o = options_for(c.ranks, c.flags);
      const auto backend = make_cpu_backend(&here);
      const PlannedStep step = plan_step(step_spec(o), *backend);
      const Coord coord = step.plan.mesh.coord(here.rank());
      const auto interpreter = backend->make_interpreter(step.plan, coord);
      ModelState model(step, *interpreter, coord);
      model.initialise(3);
      model.finish();
      const WeightCheck check(step, coord, *interpreter, here);
      EXPECT_EQ(check.look(0), std::nullopt) << c.flags;
      for (size_t i = 0; i < flips.size(); ++i) {
        const bool is_mine = flips[i].rank == here.rank();
        if (is_mine) names[i] = strike(flips[i], step, *interpreter);
        here.barrier();  // the weight with this name exists
        const std::optional<int> code = check.look(i64(i) + 1);
        EXPECT_TRUE(code) << c.flags << " " << i;
        if (is_mine) EXPECT_EQ(code, kTransientDoubt) << c.flags << " " << i;
        if (!is_mine && names[i].find(c.doubtful) == std::string::npos)
          EXPECT_EQ(code, kEndedByOthers) << c.flags << " " << i;
        if (is_mine) strike(flips[i], step, *interpreter);
      }
      EXPECT_EQ(check.look(0), std::nullopt) << c.flags;
    });
    const std::string told = testing::internal::GetCapturedStderr();
    for (size_t i = 0; i < flips.size(); ++i) {
      const size_t at = told.find(fmt::format("iteration {}: rank {} on ", i + 1, flips[i].rank));
      ASSERT_NE(at, std::string::npos) << c.flags << " " << i;
      const std::string line = told.substr(at, told.find('\n', at) - at);
      EXPECT_NE(line.find(fmt::format("its copy of {} ", names[i])), std::string::npos) << line;
      const bool is_clear = names[i].find(c.doubtful) == std::string::npos;
      EXPECT_NE(line.find(is_clear ? "has wrong weights" : "may have wrong weights"), std::string::npos) << line;
    }
  }
}

}  // namespace megalith
