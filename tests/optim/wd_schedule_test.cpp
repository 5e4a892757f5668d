#include "optim/wd_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace megalith {

TEST(WdSchedule, constant) {
  const WdSchedule s = make_wd_schedule({.weight_decay = 0.1}, 100);
  for (i64 n : {0, 50, 100, 101}) EXPECT_EQ(s.at(n), 0.1);
}

TEST(WdSchedule, linear) {
  const WdSchedule s = make_wd_schedule({.style = WdIncrease::linear, .start = 0.1, .end = 0.5}, 200);
  EXPECT_DOUBLE_EQ(s.at(0), 0.1);
  EXPECT_DOUBLE_EQ(s.at(50), 0.2);
  EXPECT_DOUBLE_EQ(s.at(200), 0.5);
  EXPECT_DOUBLE_EQ(s.at(201), 0.5);
}

TEST(WdSchedule, cosine) {
  const WdSchedule s = make_wd_schedule({.style = WdIncrease::cosine, .start = 0.1, .end = 0.5}, 200);
  EXPECT_DOUBLE_EQ(s.at(0), 0.1);
  EXPECT_DOUBLE_EQ(s.at(50), 0.1 + 0.4 * 0.5 * (1 - std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(s.at(100), 0.3);
  EXPECT_DOUBLE_EQ(s.at(200), 0.5);
}

TEST(WdSchedule, refuses_what_does_not_go_together) {
  EXPECT_THROW(make_wd_schedule({.start = 0.1, .end = 0.2}, 100), Error);
  EXPECT_THROW(make_wd_schedule({.weight_decay = -0.1}, 100), Error);
  EXPECT_THROW(make_wd_schedule({.style = WdIncrease::linear, .start = 0.1}, 100), Error);
  EXPECT_THROW(make_wd_schedule({.style = WdIncrease::linear, .start = 0.3, .end = 0.2}, 100), Error);
  EXPECT_THROW(make_wd_schedule({.style = WdIncrease::cosine, .start = 0.1, .end = 0.2}, 0), Error);
}

}  // namespace megalith
