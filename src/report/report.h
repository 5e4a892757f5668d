// Writes a run as one HTML page.
#pragma once
#include <string>

#include "report/run_files.h"

namespace megalith::report {

// `baseline`: another run to compare curves, flags and losses with; nullptr: none.
std::string html_report(const RunFiles& run, const RunFiles* baseline = nullptr);

}  // namespace megalith::report
