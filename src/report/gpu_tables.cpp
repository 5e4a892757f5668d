// CSV and JSON of Prometheus. CSV has a column for each metric or for each series, or a metric's name and value in each
// row. Grafana exports columns of series: DCGM_FI_DEV_SM_CLOCK{Hostname="n1", gpu="0"}.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/parse_json.h"
#include "base/valid_utf8.h"
#include "report/gpu_text.h"
#include "report/time_text.h"

namespace megalith::report {

namespace {

using nlohmann::json;

std::optional<double> value_of_cell(std::string_view text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(x) : std::nullopt;
}

std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// The cells of a row. A cell in quotes may hold commas; "" within is a quote.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  for (std::string& cell : cells) {
    const std::size_t begin = cell.find_first_not_of(" \t"), end = cell.find_last_not_of(" \t");
    cell = begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1);
  }
  return cells;
}

// What a column holds.
struct TableColumn {
  enum class Kind { other, time, metric, value, label, signal } kind = Kind::other;
  std::string name{};  // name of a label
  GpuValue series{};   // for a signal: has the labels in the column's name
};

// "NAME{a="b", c="d"}": takes the labels, returns the name.
std::string take_labels(const std::string& text, GpuValue& to) {
  const std::size_t open = text.find('{');
  if (open == std::string::npos) return text;
  for (std::size_t at = open + 1; at < text.size();) {
    const std::size_t equals = text.find('=', at), end = std::min(text.find_first_of(",}", at), text.size());
    if (equals >= end) break;
    const auto plain = [&](std::size_t from, std::size_t to_end) {
      std::string part = text.substr(from, to_end - from);
      std::erase_if(part, [](char c) { return c == '"' || c == ' '; });
      return part;
    };
    take_gpu_label(plain(at, equals), plain(equals + 1, end), to);
    at = end + 1;
  }
  return text.substr(0, open);
}

TableColumn column_of(const std::string& name) {
  using Kind = TableColumn::Kind;
  TableColumn c;
  if (const auto signal = gpu_signal_of(take_labels(name, c.series))) {
    c.kind = Kind::signal, c.series.signal = *signal;
    return c;
  }
  const std::string plain = folded(name);
  if (plain == "time" || plain == "timestamp" || plain == "date")
    c.kind = Kind::time;
  else if (plain == "__name__" || plain == "metric" || plain == "name" || plain == "field")
    c.kind = Kind::metric;
  else if (plain == "value")
    c.kind = Kind::value;
  else
    c.kind = Kind::label, c.name = name;
  return c;
}

bool has_kind(const std::vector<TableColumn>& columns, TableColumn::Kind kind) {
  return std::ranges::any_of(columns, [&](const TableColumn& c) { return c.kind == kind; });
}

// False if the row cannot be read. True for a row of another metric.
bool take_row(const std::vector<TableColumn>& columns, const std::vector<std::string>& cells, GpuText& out) {
  using Kind = TableColumn::Kind;
  if (cells.size() != columns.size()) return false;
  GpuValue row;
  std::optional<double> time, value;
  std::optional<GpuSignal> signal;
  bool is_value_odd = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Kind kind = columns[i].kind;
    if (kind == Kind::time) time = time_of_text(cells[i]);
    if (kind == Kind::metric) signal = gpu_signal_of(take_labels(cells[i], row));
    if (kind == Kind::value) value = value_of_cell(cells[i]), is_value_odd = !value;
    if (kind == Kind::label) take_gpu_label(columns[i].name, cells[i], row);
  }
  if (!time || is_value_odd) return false;
  row.time = *time;
  if (signal && value) {
    row.signal = *signal, row.value = *value;
    out.values.push_back(row);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto x = columns[i].kind == Kind::signal ? value_of_cell(cells[i]) : std::nullopt;
    if (!x) continue;
    GpuValue v = columns[i].series;
    if (v.host.empty()) v.host = row.host;
    if (v.bus.empty()) v.bus = row.bus;
    if (v.gpu < 0) v.gpu = row.gpu;
    v.time = *time, v.value = *x;
    out.values.push_back(v);
  }
  return true;
}

// A point of a series: [1764190000.5, "1980"].
bool take_point(const json& point, GpuValue series, GpuText& out) {
  if (!point.is_array() || point.size() != 2 || !point[0].is_number()) return false;
  const auto x = point[1].is_string()   ? value_of_cell(point[1].get<std::string>())
                 : point[1].is_number() ? std::optional(point[1].get<double>())
                                        : std::nullopt;
  if (!x) return false;
  series.time = point[0].get<double>(), series.value = *x;
  out.values.push_back(std::move(series));
  return true;
}

}  // namespace

void take_gpu_label(std::string_view name, std::string_view value, GpuValue& to) {
  const std::string plain = folded(name), text = valid_utf8(std::string(value));
  if (plain == "hostname" || plain == "host" || plain == "node") to.host = text;
  if (plain == "instance" && to.host.empty()) to.host = text.substr(0, text.find(':'));  // without the port
  if (plain == "pci_bus_id" || plain == "bus") to.bus = text;
  if (plain != "gpu" && plain != "gpu_id") return;
  const auto number = value_of_cell(value);
  if (number && *number == std::floor(*number) && *number >= 0 && *number < 1e6) to.gpu = i64(*number);
}

GpuText read_gpu_csv(std::string_view text) {
  using Kind = TableColumn::Kind;
  GpuText out;
  std::vector<TableColumn> columns;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!columns.empty()) {
      out.passed_over += i64(!take_row(columns, cells_of(line), out));
      continue;
    }
    for (const std::string& name : cells_of(line)) columns.push_back(column_of(name));
    const bool is_long = has_kind(columns, Kind::metric) && has_kind(columns, Kind::value);
    if (!has_kind(columns, Kind::time))
      out.mistake = "its first line names no column of times";
    else if (!is_long && !has_kind(columns, Kind::signal))
      out.mistake = "its first line names no metric of dcgm-exporter";
    if (!out.mistake.empty()) return out;
  }
  return out;
}

GpuText read_gpu_json(std::string_view text) {
  GpuText out;
  const auto j = parse_json<json>(text);
  const json* list = &j;
  for (const char* name : {"data", "result"})
    if (list->is_object() && list->contains(name)) list = &(*list)[name];
  if (!list->is_array()) out.mistake = "it is no answer of Prometheus";
  if (!out.mistake.empty()) return out;
  for (const json& series : *list) {
    GpuValue labels;
    std::optional<GpuSignal> signal;
    if (series.is_object() && series.contains("metric") && series["metric"].is_object()) {
      for (const auto& [name, value] : series["metric"].items())
        if (value.is_string()) {
          take_gpu_label(name, value.get<std::string>(), labels);
          if (name == "__name__") signal = gpu_signal_of(value.get<std::string>());
        }
    } else {
      ++out.passed_over;
    }
    if (!signal) continue;
    labels.signal = *signal;
    if (series.contains("values") && series["values"].is_array())
      for (const json& point : series["values"]) out.passed_over += i64(!take_point(point, labels, out));
    if (series.contains("value")) out.passed_over += i64(!take_point(series["value"], labels, out));
  }
  return out;
}

}  // namespace megalith::report
