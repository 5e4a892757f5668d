// When a run looks at what it was asked.
#include "train/asked.h"

#include <gtest/gtest.h>

#include <csignal>

namespace megalith {
namespace {

TEST(Asked, looks_after_each_of_the_first_steps_wherever_a_run_begins) {
  for (const i64 begin : {i64{0}, i64{1}, i64{100000}}) {
    const auto alone = join(Place{});
    Asked asked(Options(), *alone);
    EXPECT_FALSE(asked.look(begin));
    std::raise(SIGUSR1);
    EXPECT_TRUE(asked.look(begin + 1)) << begin;
    EXPECT_TRUE(asked.to_save());
  }
}

}  // namespace
}  // namespace megalith
