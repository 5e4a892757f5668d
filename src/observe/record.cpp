#include "observe/record.h"

#include <fmt/core.h>

#include <algorithm>

namespace megalith {

std::string shown_name(std::string_view pattern, const MetricValue& value) {
  return fmt::format(fmt::runtime(pattern), value.name);
}

std::vector<const MetricValue*> in_order(const Record& record, std::span<const std::string_view> first) {
  std::vector<const MetricValue*> values;
  for (const MetricValue& v : record.values) values.push_back(&v);
  const auto place = [&](const MetricValue* v) { return std::ranges::find(first, v->metric->name) - first.begin(); };
  std::ranges::stable_sort(values, {}, place);
  return values;
}

}  // namespace megalith
