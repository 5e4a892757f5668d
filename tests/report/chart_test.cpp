// Tests of what a chart tells about its axes.
#include "report/chart.h"

#include <gtest/gtest.h>

#include <cmath>

namespace megalith::report {
namespace {

std::string chart_of(const ChartSpec& spec, const std::vector<double>& values) {
  MetricCurve curve;
  for (const double v : values) curve.points.push_back({i64(curve.points.size()) + 1, v});
  return chart(spec, {{&curve, false, false}});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A first iteration that takes 200 times as long must not hide the others. Charts of other values keep their zero.
TEST(Chart, OfSpeedsIsLogarithmicIfTheyDifferMuch) {
  const std::string far = chart_of({.title = "t", .from_zero = true, .is_speed = true}, {2000, 10, 11, 10});
  EXPECT_TRUE(has(far, "; logarithmic")) << far;
  EXPECT_TRUE(has(far, ">1,000<")) << far;
  EXPECT_FALSE(has(far, ">0<")) << far;
  for (const bool is_speed : {false, true}) {
    const double first = is_speed ? 20 : 2000;
    const std::string near = chart_of({.title = "t", .from_zero = true, .is_speed = is_speed}, {first, 10, 11});
    EXPECT_FALSE(has(near, "logarithmic")) << near;
    EXPECT_TRUE(has(near, ">0<")) << near;
  }
}

TEST(Chart, NamesAxesUnitsAndMarks) {
  const std::string odd = chart_of({.title = "Time", .unit = "ms"}, {1, 2, NAN, 3});
  EXPECT_TRUE(has(odd, ">iteration</text>")) << odd;
  EXPECT_TRUE(has(odd, "<figcaption>Time, ms <span>3 ms at iteration 4; red mark: not finite</span>")) << odd;
  EXPECT_FALSE(has(chart_of({.title = "Time"}, {1, 2}), "red mark"));
}

// Of 11 iterations over 408 units, from x = 62.
TEST(Chart, MarksWhereTheRunResumed) {
  const std::vector<double> values(11, 2.5);
  const std::string marked = chart_of({.title = "t", .resumes = {0, 6, 11, 40}}, values);
  EXPECT_TRUE(has(marked, R"(<path class="resume" d="M266.0 8.0V208.0"/>)")) << marked;
  EXPECT_FALSE(has(chart_of({.title = "t"}, values), "resume"));
  std::vector<i64> many;
  for (i64 i = 1; i < 100'000; ++i) many.push_back(i);
  EXPECT_LT(chart_of({.title = "t", .resumes = many}, std::vector<double>(100'000, 1)).size(), 10'000u);
}

TEST(Chart, OfThePagesWidthHasADrawingForNarrowScreens) {
  const std::string wide = chart_of({.title = "t", .wide = true}, {1, 2});
  EXPECT_TRUE(has(wide, R"(<div class="broad"><svg viewBox="0 0 980 230")")) << wide;
  EXPECT_TRUE(has(wide, R"(<div class="narrow"><svg viewBox="0 0 480 230")")) << wide;
  EXPECT_FALSE(has(chart_of({.title = "t"}, {1, 2}), "narrow"));
}

}  // namespace
}  // namespace megalith::report
