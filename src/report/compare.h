// Two runs beside each other.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "report/run_files.h"

namespace megalith::report {

struct ArgumentDifference {
  std::string name, a, b;  // "-": it is not there
};
// Without those that only say where files are.
std::vector<ArgumentDifference> argument_differences(const RunFiles& a, const RunFiles& b);

// A loss at the iterations that both runs tell it of.
struct LossComparison {
  std::string name;
  i64 common = 0;  // iterations
  struct At {
    i64 iteration;
    double a, b;
  };
  std::optional<At> first{};    // where they differ at all
  std::optional<At> largest{};  // where they differ most
  double difference() const;    // there; infinite where one alone is not finite
};
// Of all losses that both have.
std::vector<LossComparison> compare_losses(const RunFiles& a, const RunFiles& b);
// "the same at all 100 iterations", "first differs at iteration 12: 3.25 and 3.26; most, ..."
std::string comparison_text(const LossComparison& loss);

// The middle value of a curve's finite ones; none without any.
std::optional<double> middle_of(const MetricCurve* curve);

struct TextComparison {
  std::string text;
  bool differs = false;  // a loss by more than the tolerance, or no loss can be compared
};
TextComparison compare_runs(const RunFiles& a, const RunFiles& b, double tolerance);

}  // namespace megalith::report
