#include "observe/sinks/metrics_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/log.h"

namespace megalith {

namespace fs = std::filesystem;

static i64 iteration_of(const std::string& line, const fs::path& path, i64 number) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  const bool ok = object.is_object() && object.contains("iteration") && object["iteration"].is_number_integer();
  check(ok, "metrics file {}: line {} is not a metrics line: name another file, or move this one away", path.string(),
        number);
  return object["iteration"].get<i64>();
}

// Bytes up to the first line of an iteration above the given one, or up to an unfinished last line.
static u64 bytes_to_keep(const fs::path& path, i64 iteration) {
  std::ifstream in(path, std::ios::binary);
  check(in.good(), "metrics file {}: cannot read what it holds: check its permissions, or name another file",
        path.string());
  u64 keep = 0;
  std::string line;
  for (i64 number = 1; std::getline(in, line) && !in.eof(); ++number) {
    if (iteration_of(line, path, number) > iteration) break;
    keep += line.size() + 1;
  }
  return keep;
}

static void move_aside(const fs::path& path) {
  fs::path old;
  for (int n = 1; old.empty() || fs::exists(old); ++n) old = path.string() + fmt::format(".{}", n);
  std::error_code error;
  fs::rename(path, old, error);
  check(!error, "metrics file {}: cannot move the earlier run's to {} ({}): name another file", path.string(),
        old.string(), error.message());
  log::info("metrics file {}: the earlier run's is kept as {}", path.string(), old.string());
}

static fs::path prepare(const fs::path& path, i64 iteration) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) == 0) return path;
  const u64 keep = bytes_to_keep(path, iteration);
  if (iteration == 0) {
    move_aside(path);
  } else if (keep < fs::file_size(path, error)) {
    fs::resize_file(path, keep, error);
    check(!error, "metrics file {}: cannot cut off what follows iteration {} ({}): name another file", path.string(),
          iteration, error.message());
  }
  return path;
}

MetricsFile::MetricsFile(const fs::path& path, i64 iteration) : file_(prepare(path, iteration), "metrics file") {}

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
  return members;
}

void MetricsFile::take(const Record& record) {
  if (record.ends_interval) write(record.iteration, members_of(record));
}

// The first loss is the model's.
void MetricsFile::take_evaluation(const Evaluated& e) {
  if (!e.record) return;
  std::vector<JsonMember> members;
  for (const NamedValue& loss : e.losses)
    members.push_back({"validation_" + (members.empty() ? "loss" : key(loss.name)) + e.set, loss.value});
  write(e.iteration, members);
}

}  // namespace megalith
