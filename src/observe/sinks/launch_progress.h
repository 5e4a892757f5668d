// Reports completed iterations to the agent of `megalith launch`, and the end of the run: freeing a device's memory
// takes seconds, and is no hang.
#pragma once
#include "comm/launch_line.h"
#include "observe/record.h"

namespace megalith {

class LaunchProgress final : public Sink {
 public:
  explicit LaunchProgress(const LaunchLine& line) : line_(line) {}
  void take(const Record& record) override { line_.did(record.iteration); }
  void leave(Away where) override { line_.away(where == Away::saving ? "saving" : "evaluating"); }
  void come_back() override { line_.away("no"); }
  void finish() override { line_.settling(); }

 private:
  LaunchLine line_;
};

}  // namespace megalith
