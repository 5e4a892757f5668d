// Comparison of two runs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "report/run_files.h"

namespace megalith::report {

struct ArgumentDifference {
  std::string name, a, b;  // "-": missing
};
// Fields that only name files are skipped.
std::vector<ArgumentDifference> argument_differences(const RunFiles& a, const RunFiles& b);

// A loss at the iterations that both runs have.
struct LossComparison {
  std::string name;
  i64 common = 0;  // iterations
  struct At {
    i64 iteration;
    double a, b;
  };
  std::optional<At> first{};    // first difference
  std::optional<At> largest{};  // largest difference
  double difference() const;    // the largest difference; infinite if only one value is finite
};
// Of all losses that both runs have.
std::vector<LossComparison> compare_losses(const RunFiles& a, const RunFiles& b);
// "the same at all 100 iterations", "first differs at iteration 12: 3.25 and 3.26; most, ..."
std::string comparison_text(const LossComparison& loss);

// The median of a curve's finite values; empty if there are none.
std::optional<double> middle_of(const MetricCurve* curve);

struct TextComparison {
  std::string text;
  bool differs = false;  // a loss differs by more than the tolerance, or no loss can be compared
};
TextComparison compare_runs(const RunFiles& a, const RunFiles& b, double tolerance);

}  // namespace megalith::report
