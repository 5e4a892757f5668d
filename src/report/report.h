// A run as one page of HTML.
#pragma once
#include <string>

#include "report/run_files.h"

namespace megalith::report {

// `baseline`: another run that its curves, flags and losses are held against; nullptr: none.
std::string html_report(const RunFiles& run, const RunFiles* baseline = nullptr);

}  // namespace megalith::report
