#include "observe/metrics_file.h"

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

void MetricsFile::write(i64 iteration, std::span<const Metric> metrics) {
  file_.append(metrics_line(iteration, metrics) + "\n");
}

std::string metrics_line(i64 iteration, std::span<const Metric> metrics) {
  nlohmann::ordered_json line{{"iteration", iteration}}, nonfinite;
  for (const auto& [name, value] : metrics) {
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

std::vector<Metric> iteration_metrics(const IterationRecord& r, const Interval& interval, const Speed& speed) {
  std::vector<Metric> m{{"consumed_samples", r.consumed_samples}};
  for (NamedValue loss : interval.mean_losses) {
    std::ranges::replace(loss.name, ' ', '_');
    m.push_back({loss.name, loss.value});
  }
  m.push_back({"learning_rate", r.learning_rate});
  if (r.grad_norm) m.push_back({"grad_norm", *r.grad_norm});
  m.push_back({"iteration_ms", interval.seconds_per_iteration * 1000});
  m.push_back({"tokens_per_second", speed.tokens_per_second});
  m.push_back({"data_wait_ms", speed.data_wait * 1000});
  if (speed.tflops) m.push_back({"tflops", *speed.tflops});
  if (speed.mfu) m.push_back({"mfu", *speed.mfu});
  m.push_back({"global_batch_size", r.global_batch_size});
  m.push_back({"loss_scale", r.loss_scale});
  m.push_back({"skipped_iterations", interval.skipped});
  m.push_back({"nan_iterations", interval.nan});
  if (r.num_zeros) m.push_back({"num_zeros", *r.num_zeros});
  if (r.params_norm) m.push_back({"params_norm", *r.params_norm});
  return m;
}

}  // namespace megalith
