#include "observe/sinks/metrics_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "observe/sinks/json_lines.h"

namespace megalith {

MetricsFile::MetricsFile(const std::filesystem::path& path, i64 iteration)
    : file_(at_iteration(path, iteration, {"metrics file", "metrics", "iteration"}), "metrics file") {}

void MetricsFile::write(i64 iteration, std::span<const JsonMember> members) {
  file_.append(metrics_line(iteration, members) + "\n");
}

std::string metrics_line(i64 iteration, std::span<const JsonMember> members) {
  nlohmann::ordered_json line{{"iteration", iteration}}, nonfinite;
  for (const auto& [name, value] : members) {
    if (const i64* whole = std::get_if<i64>(&value)) {
      line[name] = *whole;
      continue;
    }
    const double x = std::get<double>(value);
    line[name] = x;  // null unless finite
    if (!std::isfinite(x)) nonfinite[name] = std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
  }
  if (!nonfinite.empty()) line["nonfinite"] = nonfinite;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

static std::string key(std::string name) {
  std::ranges::replace(name, ' ', '_');
  return name;
}

std::vector<JsonMember> members_of(const Record& record) {
  std::vector<JsonMember> members;
  for (const MetricValue* v : in_order(record, first_in_metrics_file())) {
    const InMetricsFile& form = v->metric->file;
    if (form.name.empty()) continue;
    const double x = v->interval * form.scale;
    members.push_back({key(shown_name(form.name, *v)), x});
    if (v->metric->whole) members.back().value = i64(x);
  }
  for (const NamedValue& phase : record.phases) {
    std::string name = phase.name;
    std::ranges::replace(name, '-', '_');
    members.push_back({"phase_" + name + "_ms", phase.value * 1e3});
  }
  return members;
}

void MetricsFile::take(const Record& record) {
  if (record.ends_interval) write(record.iteration, members_of(record));
}

// The first loss is the model's loss.
void MetricsFile::take_evaluation(const Evaluated& e) {
  if (!e.record) return;
  std::vector<JsonMember> members;
  for (const NamedValue& loss : e.losses)
    members.push_back({"validation_" + (members.empty() ? "loss" : key(loss.name)) + e.set, loss.value});
  write(e.iteration, members);
}

}  // namespace megalith
