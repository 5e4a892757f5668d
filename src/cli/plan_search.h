// One search of `megalith plan`, and the files of its report.
#pragma once
#include "cli/plan_flags.h"

namespace megalith {

inline constexpr int kNothingFits = 3;  // exit code

search::Asked asked_of(const PlanFlags& flags, i64 gpus);

// The best `top` layouts. Sets the seconds that the search took. Throws Mistakes if the flags are wrong in every
// layout.
search::Outcome search_layouts(search::Searcher& searcher, const PlanFlags& flags, search::Asked& asked, size_t top);

// Writes the text to the file that `flag` names. Does nothing without a path.
void write_report(const char* flag, const std::string& path, const std::string& text);

}  // namespace megalith
