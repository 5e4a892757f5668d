// Reports completed iterations to the agent of `megalith launch`.
#pragma once
#include "comm/launch_line.h"
#include "observe/record.h"

namespace megalith {

class LaunchProgress final : public Sink {
 public:
  explicit LaunchProgress(const LaunchLine& line) : line_(line) {}
  void take(const Record& record) override { line_.did(record.iteration); }

 private:
  LaunchLine line_;
};

}  // namespace megalith
