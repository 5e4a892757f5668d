#include "observe/sinks/json_lines.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/log.h"

namespace megalith {

namespace fs = std::filesystem;

namespace {

i64 iteration_of(const std::string& line, const fs::path& path, i64 number, const JsonLines& lines) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  const bool ok = object.is_object() && object.contains(lines.key) && object[lines.key].is_number_integer();
  check(ok, "{} {}: line {} is not a {} line: name another file, or move this one away", lines.what, path.string(),
        number, lines.kind);
  return object[lines.key].get<i64>();
}

// Number of bytes before the first line of a later iteration, or before an incomplete last line.
u64 bytes_to_keep(const fs::path& path, i64 iteration, const JsonLines& lines) {
  std::ifstream in(path, std::ios::binary);
  check(in.good(), "{} {}: cannot be read: check its permissions, or name another file", lines.what, path.string());
  u64 keep = 0;
  std::string line;
  for (i64 number = 1; std::getline(in, line) && !in.eof(); ++number) {
    if (iteration_of(line, path, number, lines) > iteration) break;
    keep += line.size() + 1;
  }
  return keep;
}

void move_aside(const fs::path& path, const JsonLines& lines) {
  fs::path old;
  for (int n = 1; old.empty() || fs::exists(old); ++n) old = path.string() + fmt::format(".{}", n);
  std::error_code error;
  fs::rename(path, old, error);
  check(!error, "{} {}: cannot move the earlier run's to {} ({}): name another file", lines.what, path.string(),
        old.string(), error.message());
  log::info("{} {}: the earlier run's is kept as {}", lines.what, path.string(), old.string());
}

}  // namespace

fs::path at_iteration(const fs::path& path, i64 iteration, const JsonLines& lines) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) == 0) return path;
  const u64 keep = bytes_to_keep(path, iteration, lines);
  if (iteration == 0) {
    move_aside(path, lines);
  } else if (keep < fs::file_size(path, error)) {
    fs::resize_file(path, keep, error);
    check(!error, "{} {}: cannot remove records after iteration {} ({}): name another file", lines.what, path.string(),
          iteration, error.message());
  }
  return path;
}

}  // namespace megalith
