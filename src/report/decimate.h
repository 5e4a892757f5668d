// Fewer points of a curve, such that nothing that can be seen is lost.
#pragma once
#include "report/metric_lines.h"

namespace megalith::report {

// Of each of `columns` equal parts of the iterations: the first, least, greatest and last finite point. A part with
// points that are not finite keeps one of them too. Curves with at most four points a part stay as they are.
std::vector<CurvePoint> decimate(const std::vector<CurvePoint>& points, i64 columns);

}  // namespace megalith::report
