#include "observe/interval_stats.h"

#include <gtest/gtest.h>

#include <cmath>

#include "observe/timers.h"

namespace megalith {

TEST(IntervalStats, averages_advanced_iterations_only) {
  IntervalStats stats;
  stats.add(std::vector<NamedValue>{{"lm loss", 2}, {"aux", -1}}, false);
  stats.add(std::vector<NamedValue>{{"lm loss", 1000}, {"aux", 7}}, true);
  stats.add(std::vector<NamedValue>{{"lm loss", 4}, {"aux", -2}}, false);
  EXPECT_EQ(stats.iterations(), 3);
  const Interval i = stats.take(6);
  EXPECT_EQ(i.seconds_per_iteration, 2);  // skipped ones take time too
  ASSERT_EQ(i.mean_losses.size(), 2u);
  EXPECT_EQ(i.mean_losses[0].name, "lm loss");
  EXPECT_EQ(i.mean_losses[0].value, 3);
  EXPECT_EQ(i.mean_losses[1].value, -1.5);
  EXPECT_EQ(i.advanced, 2);
  EXPECT_EQ(i.skipped, 1);
  EXPECT_EQ(i.nan, 0);
}

TEST(IntervalStats, take_starts_anew) {
  IntervalStats stats;
  stats.add(std::vector<NamedValue>{{"lm loss", NAN}}, true);
  stats.take(1);
  stats.add(std::vector<NamedValue>{{"lm loss", 5}}, false);
  const Interval i = stats.take(1);
  EXPECT_EQ(i.mean_losses[0].value, 5);
  EXPECT_EQ(i.skipped + i.nan, 0);
  EXPECT_EQ(stats.iterations(), 0);
}

TEST(IntervalStats, counts_losses_that_are_not_finite) {
  IntervalStats stats;
  stats.add(std::vector<NamedValue>{{"lm loss", NAN}}, true);
  stats.add(std::vector<NamedValue>{{"lm loss", -INFINITY}, {"aux", NAN}}, true);
  stats.add(std::vector<NamedValue>{{"lm loss", 1}, {"aux", 1}}, false);
  Interval i = stats.take(1);
  EXPECT_EQ(i.nan, 2);
  EXPECT_EQ(i.mean_losses[0].value, 1);
  stats.add(std::vector<NamedValue>{{"lm loss", NAN}}, false);
  i = stats.take(1);
  EXPECT_EQ(i.nan, 1);
  EXPECT_TRUE(std::isnan(i.mean_losses[0].value));
}

TEST(IntervalStats, without_an_advanced_iteration_there_is_no_mean) {
  IntervalStats stats;
  stats.add(std::vector<NamedValue>{{"lm loss", 3}}, true);
  const Interval i = stats.take(1);
  EXPECT_TRUE(std::isnan(i.mean_losses[0].value));
  EXPECT_EQ(i.nan, 0);
  EXPECT_EQ(IntervalStats().take(1).seconds_per_iteration, 1);  // no division by zero
}

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
  EXPECT_EQ(watch.look(20), 3);
  EXPECT_EQ(watch.take(now), 4);  // 17 to 21
  EXPECT_EQ(watch.take(19), 0);   // before it began
  watch.stop();
  now = 40;
  EXPECT_EQ(watch.take(30), 0);
}

}  // namespace megalith
