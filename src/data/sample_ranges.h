// Samples of the training set that are left out (--skip-samples). A sample's number is the number of samples of the run
// before it. Incident files have these numbers.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class SampleRanges {
 public:
  // Each line has a number or a range "FIRST-LAST". "#" begins a comment. Error, with `name` and the line, for other
  // text.
  static SampleRanges parse(std::string_view text, const std::string& name);

  bool contains(i64 sample) const { return count(sample, sample + 1) > 0; }
  i64 count(i64 begin, i64 end) const;  // of the samples begin .. end - 1
  i64 size() const;
  std::string text() const;                    // "12, 40-43"
  std::string text(i64 begin, i64 end) const;  // of the ranges within begin .. end - 1
  bool empty() const { return ranges_.empty(); }

 private:
  struct Range {
    i64 begin, end;
  };
  std::vector<Range> ranges_;  // sorted, disjoint, not adjacent
};

}  // namespace megalith
