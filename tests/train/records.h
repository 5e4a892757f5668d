// Makes records for tests of sinks, from names of metrics.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "observe/record.h"

namespace megalith {

inline const Metric* metric_named(const std::string& name) {
  const auto it = std::ranges::find(all_metrics(), name, &Metric::name);
  if (it == all_metrics().end()) ADD_FAILURE() << name << " is no metric";
  return it == all_metrics().end() ? nullptr : &*it;
}

struct Given {
  std::string metric;
  double value;
  std::string term{};  // name of a loss term
};

// Sets the values for the iteration and for the interval. As in the recorder, the order is that of the table.
inline Record record_of(const std::vector<Given>& given) {
  Record r{.ends_interval = true};
  for (const auto& [metric, value, term] : given)
    r.values.push_back({metric_named(metric), term.empty() ? metric : term, value, value});
  std::ranges::stable_sort(r.values, {}, [](const MetricValue& v) { return v.metric; });
  return r;
}

}  // namespace megalith
