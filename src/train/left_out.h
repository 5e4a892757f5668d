// --skip-samples: the samples that a run leaves out.
#pragma once
#include <memory>

#include "comm/ranks.h"
#include "data/sample_ranges.h"
#include "settings/options.h"

namespace megalith {

// Collective: rank 0 reads the file, and all ranks leave out the same samples. nullptr: no samples.
std::shared_ptr<const SampleRanges> samples_left_out(const Options& options, Ranks& ranks);

// The log line of an iteration that consumed samples begin .. end - 1. Empty if it left out no sample.
std::string left_out_line(const SampleRanges* left_out, i64 iteration, i64 begin, i64 end);

}  // namespace megalith
