#include "report/metric_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/check.h"
#include "base/open_regular.h"
#include "base/parse_json.h"

namespace megalith::report {

namespace {

using nlohmann::ordered_json;

// A value that JSON cannot represent is null, and "nonfinite" has its kind.
double value_of_null(const ordered_json& line, const std::string& name) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto said = line.find("nonfinite");
  if (said == line.end() || !said->is_object() || !said->contains(name)) return std::nan("");
  return (*said)[name] == "inf" ? inf : (*said)[name] == "-inf" ? -inf : std::nan("");
}

// If an iteration occurs twice, the later line counts.
void put_in_order(std::vector<CurvePoint>& points) {
  std::ranges::stable_sort(points, {}, &CurvePoint::iteration);
  std::vector<CurvePoint> once;
  for (const CurvePoint& p : points) {
    if (!once.empty() && once.back().iteration == p.iteration) once.pop_back();
    once.push_back(p);
  }
  points = std::move(once);
}

}  // namespace

bool is_loss(const std::string& name) {
  return name.find("loss") != std::string::npos && name.find("loss_scale") == std::string::npos &&
         name != "loss_spikes";
}

const MetricCurve* MetricLines::find(const std::string& name) const {
  const auto it = std::ranges::find(curves, name, &MetricCurve::name);
  return it == curves.end() ? nullptr : &*it;
}

i64 MetricLines::last_iteration() const {
  i64 last = 0;
  for (const MetricCurve& c : curves)
    if (!c.points.empty()) last = std::max(last, c.points.back().iteration);
  return last;
}

MetricLines read_metric_lines(const std::string& path) {
  std::ifstream in = open_regular(path);
  check(in.good(), "metrics file {}: cannot read it: give the file that --metrics-file wrote, with --metrics", path);
  MetricLines out;
  std::unordered_map<std::string, std::size_t> places;
  for (std::string text; std::getline(in, text);) {
    if (text.empty()) continue;
    const auto line = parse_json<ordered_json>(text);
    if (!line.is_object() || !line.contains("iteration") || !line["iteration"].is_number_integer()) {
      ++out.passed_over;
      continue;
    }
    ++out.lines;
    const i64 iteration = line["iteration"].get<i64>();
    for (const auto& [name, value] : line.items()) {
      if (name == "iteration" || !(value.is_number() || value.is_null())) continue;
      const auto [place, is_new] = places.emplace(name, out.curves.size());
      if (is_new) out.curves.push_back({name});
      const double x = value.is_null() ? value_of_null(line, name) : value.get<double>();
      out.curves[place->second].points.push_back({iteration, x});
    }
  }
  for (MetricCurve& c : out.curves) put_in_order(c.points);
  return out;
}

}  // namespace megalith::report
