// The sections of the page as HTML; empty if there is nothing to show.
#pragma once
#include "report/gpu_join.h"
#include "report/html.h"
#include "report/run_files.h"

namespace megalith::report {

std::string facts_of(const RunFiles& run);  // the large numbers at the top
std::string curves_of(const RunFiles& run, const RunFiles* baseline);
std::string phases_of(const RunFiles& run);  // stacked chart of iterations
std::string ranks_of(const RunFiles& run);   // differences between ranks
std::string memory_of(const RunFiles& run);  // planned and used
std::string plan_of(const RunFiles& run);    // predicted and measured
std::string times_of(const RunFiles& run);   // the goodput ledger
std::string findings_of(const RunFiles& run);
std::string incidents_of(const RunFiles& run);
std::string slow_iterations_of(const RunFiles& run);
std::string gpus_of(const GpuJoin& join);  // GPUs during slow iterations, and over the run
std::string saves_of(const RunFiles& run);
std::string numbers_of(const RunFiles& run);
std::string against(const RunFiles& run, const RunFiles& baseline);
std::string arguments_of(const RunFiles& run);
std::string environment_of(const RunFiles& run);

// The value of an argument of the last start; empty: unknown.
std::string argument(const RunFiles& run, const std::string& name);
// Iterations after which later starts continued, in ascending order.
std::vector<i64> resumes_of(const RunFiles& run);
// The folder's name: "checkpoints" of "/data/runs/checkpoints/".
std::string folder_name(const RunFiles& run);
// --run-name, or the folder's name.
std::string run_name(const RunFiles& run);

}  // namespace megalith::report
