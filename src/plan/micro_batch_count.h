// Which micro-batch of a step a program's run is. Micro-batches run in order; the last one may have its own program.
#pragma once
#include <map>
#include <string>

#include "plan/plan.h"

namespace megalith {

class MicroBatchCount {
 public:
  explicit MicroBatchCount(const Plan& plan) : plan_(plan) {}
  void begin() { runs_.clear(); }  // a step
  i64 next(int program) {          // of the run that begins
    const std::string& name = plan_.programs[size_t(program)].name;
    return runs_[name.starts_with("last-") ? name.substr(5) : name]++;
  }

 private:
  const Plan& plan_;
  std::map<std::string, i64> runs_;
};

}  // namespace megalith
