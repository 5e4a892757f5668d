#include "observe/timers.h"

#include <gtest/gtest.h>

namespace megalith {

TEST(Stopwatch, counts_while_it_runs) {
  double now = 10;
  Stopwatch watch([&] { return now; });
  EXPECT_EQ(watch.take(now), 0);
  watch.start();
  now = 13;
  watch.start();
  watch.stop();
  now = 20;
  watch.stop();
  watch.start();
  now = 21;
  EXPECT_EQ(watch.take(now), 4);
  now = 22;
  EXPECT_EQ(watch.take(now), 1);
  watch.stop();
  now = 30;
  EXPECT_EQ(watch.take(now), 0);
}

TEST(Stopwatch, counts_up_to_a_moment_that_has_passed) {
  double now = 10;
  Stopwatch watch([&] { return now; });
  watch.start();
  now = 20;
  EXPECT_EQ(watch.take(17), 7);
  now = 21;
  EXPECT_EQ(watch.take(20), 3);
  EXPECT_EQ(watch.take(now), 1);
  EXPECT_EQ(watch.take(19), 0);  // before its start
  watch.stop();
  now = 40;
  EXPECT_EQ(watch.take(30), 0);
}

}  // namespace megalith
