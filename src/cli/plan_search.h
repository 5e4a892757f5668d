// One search of `megalith plan`, and the files of its report.
#pragma once
#include "cli/plan_flags.h"

namespace megalith {

inline constexpr int kNothingFits = 3;  // exit code

search::Asked asked_of(const PlanFlags& flags, i64 gpus);

// The best `top` layouts. Sets the seconds that the search took.
search::Outcome search_layouts(search::Searcher& searcher, const PlanFlags& flags, search::Asked& asked, size_t top);

// The searches of several numbers of GPUs. Throws Mistakes if the flags are wrong in every layout of each.
class MistakenCounts {
 public:
  void add(const search::Outcome& found);
  void done() const;

 private:
  bool any_right_ = false;
  std::vector<std::string> last_;
};

// Writes the text to the file that `flag` names. Does nothing without a path.
void write_report(const char* flag, const std::string& path, const std::string& text);

}  // namespace megalith
