// Reduces the points of a curve without a visible difference.
#pragma once
#include "report/metric_lines.h"

namespace megalith::report {

// Divides the iterations into `columns` equal parts, and keeps of each the first, smallest, largest and last finite
// point. A part with non-finite points keeps one of these too. Curves with at most four points per part are
// unchanged.
std::vector<CurvePoint> decimate(const std::vector<CurvePoint>& points, i64 columns);

}  // namespace megalith::report
