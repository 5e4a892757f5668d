// Tests when a run checks for stop requests.
#include "train/stop_requests.h"

#include <gtest/gtest.h>

#include <csignal>

namespace megalith {
namespace {

TEST(StopRequests, looks_after_each_of_the_first_steps_wherever_a_run_begins) {
  for (const i64 begin : {i64{0}, i64{1}, i64{100000}}) {
    const auto alone = join(Place{});
    StopRequests requests(Options(), *alone);
    EXPECT_FALSE(requests.look(begin));
    std::raise(SIGUSR1);
    EXPECT_TRUE(requests.look(begin + 1)) << begin;
    EXPECT_TRUE(requests.to_save());
  }
}

}  // namespace
}  // namespace megalith
