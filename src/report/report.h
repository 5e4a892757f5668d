// Writes a run as one HTML page.
#pragma once
#include <string>

#include "report/gpu_join.h"
#include "report/run_files.h"

namespace megalith::report {

// `baseline`: another run to compare curves, flags and losses with. `gpus`: samples of its GPUs. nullptr: none.
std::string html_report(const RunFiles& run, const RunFiles* baseline = nullptr, const GpuJoin* gpus = nullptr);

}  // namespace megalith::report
