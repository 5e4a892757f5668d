// The incidents of a run: SAVE/incidents/iter_0001234.json, one file each.
#pragma once
#include "report/run_files.h"

namespace megalith::report {

// Sorted by iteration. Missing members are empty. A file that is not a JSON object is reported as such.
std::vector<IncidentFile> read_incidents(const std::string& dir);

}  // namespace megalith::report
