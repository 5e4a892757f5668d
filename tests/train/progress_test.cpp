#include "observe/sinks/progress.h"

#include <gtest/gtest.h>

#include <cmath>

namespace megalith {

// Counts characters, not bytes, so UTF-8's continuation bytes do not count.
static int shown_width(const std::string& s) {
  int n = 0;
  for (char c : s) n += (c & 0xc0) != 0x80;
  return n;
}

TEST(ProgressLine, shows_steps_loss_speed_and_time) {
  const ProgressState p{.step = 30, .total = 120, .loss = 4.56789, .tokens_per_second = 12345, .seconds_left = 62};
  EXPECT_EQ(progress_line(p, 200),
            "step 30/120 ███████░░░░░░░░░░░░░░░░░░░░░░░  25% | loss 4.5679 | 12.3k tokens/s | 1:02 left");
}

TEST(ProgressLine, fits_any_width) {
  const ProgressState p{.step = 30, .total = 120, .loss = 4.56789, .tokens_per_second = 2.5e6, .seconds_left = 62};
  for (int columns = 0; columns < 130; ++columns)
    EXPECT_LE(shown_width(progress_line(p, columns)), std::max(0, columns - 1)) << columns;
  EXPECT_NE(progress_line(p, 40).find("loss 4.5679"), std::string::npos);
}

TEST(ProgressLine, takes_odd_states) {
  EXPECT_NE(progress_line({.step = 0, .total = 0, .loss = NAN}, 80).find("loss nan"), std::string::npos);
  EXPECT_NE(
      progress_line({.step = 200, .total = 100, .tokens_per_second = INFINITY, .seconds_left = NAN}, 80).find("? left"),
      std::string::npos);
}

TEST(Duration, grows_from_minutes_to_days) {
  EXPECT_EQ(duration(0), "0:00");
  EXPECT_EQ(duration(6.7), "0:07");
  EXPECT_EQ(duration(754), "12:34");
  EXPECT_EQ(duration(3723), "1:02:03");
  EXPECT_EQ(duration(3 * 86400 + 4 * 3600 + 5 * 60), "3d 04:05");
  EXPECT_EQ(duration(-1), "?");
  EXPECT_EQ(duration(INFINITY), "?");
}

TEST(Progress, estimates_from_the_steps_of_this_run) {
  double now = 100;
  Progress progress(50, 60, [&] { return now; });  // resumed at iteration 50
  now = 102;
  progress.update(51, 3, 1000);
  EXPECT_DOUBLE_EQ(progress.state().tokens_per_second, 500);
  EXPECT_DOUBLE_EQ(progress.state().seconds_left, 18);
  now = 103;
  progress.update(52, 2.5, 1000);
  EXPECT_DOUBLE_EQ(progress.state().tokens_per_second, 550);  // a tenth of the way from 500 to 1000
  EXPECT_DOUBLE_EQ(progress.state().seconds_left, 12);
  EXPECT_EQ(progress.state().loss, 2.5);
}

}  // namespace megalith
