// The incidents of a run: SAVE/incidents/iter_0001234.json, one file each.
#pragma once
#include "report/run_files.h"

namespace megalith::report {

// By iteration. What is missing in a file stays empty; a file that is no JSON object is told as such.
std::vector<IncidentFile> read_incidents(const std::string& dir);

}  // namespace megalith::report
