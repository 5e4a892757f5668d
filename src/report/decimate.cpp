#include "report/decimate.h"

#include <algorithm>
#include <cmath>

namespace megalith::report {

namespace {

// Selects the points of one part, in order of iteration.
void keep(const CurvePoint* begin, const CurvePoint* end, std::vector<CurvePoint>& out) {
  std::vector<const CurvePoint*> kept;
  const CurvePoint *least = nullptr, *greatest = nullptr, *last = nullptr, *odd = nullptr;
  for (const CurvePoint* p = begin; p != end; ++p) {
    if (!std::isfinite(p->value)) {
      if (!odd) odd = p;
      continue;
    }
    if (!last) kept.push_back(p);
    if (!least || p->value < least->value) least = p;
    if (!greatest || p->value > greatest->value) greatest = p;
    last = p;
  }
  for (const CurvePoint* p : {least, greatest, last, odd})
    if (p) kept.push_back(p);
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  for (const CurvePoint* p : kept) out.push_back(*p);
}

}  // namespace

std::vector<CurvePoint> decimate(const std::vector<CurvePoint>& points, i64 columns) {
  constexpr i64 kOfAPart = 4;
  if (i64(points.size()) <= kOfAPart * columns) return points;
  const double first = double(points.front().iteration), width = double(points.back().iteration) - first + 1;
  const auto part_of = [&](const CurvePoint& p) {
    return i64((double(p.iteration) - first) / width * double(columns));
  };
  std::vector<CurvePoint> out;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    while (end < points.size() && part_of(points[end]) == part_of(points[begin])) ++end;
    keep(points.data() + begin, points.data() + end, out);
    begin = end;
  }
  return out;
}

}  // namespace megalith::report
