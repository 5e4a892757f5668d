// The metrics file, for scripts and dashboards: one JSON object per line, one line per logged iteration, flushed
// immediately.
//   {"iteration":10,"consumed_samples":40,"lm_loss":9.5,"learning_rate":0.001,"grad_norm":1.25,"iteration_ms":80.5,...}
// JSON has no NaN or infinity. Such a value is null, and a last member has its kind: "nonfinite":{"lm_loss":"nan"}
// ("inf", "-inf").
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/append_file.h"
#include "observe/record.h"

namespace megalith {

struct JsonMember {
  std::string name;
  std::variant<i64, double> value;
};

class MetricsFile final : public Sink {
 public:
  // Opens the file for a run that begins after `iteration` (json_lines.h). Error if it has other content or cannot be
  // opened.
  MetricsFile(const std::filesystem::path& path, i64 iteration);

  void take(const Record& record) override;  // one line per interval
  void take_evaluation(const Evaluated& evaluated) override;
  void write(i64 iteration, std::span<const JsonMember> members);  // if the disk is full: warns once and continues

 private:
  AppendFile file_;
};

// The line without newline.
std::string metrics_line(i64 iteration, std::span<const JsonMember> members);

// The interval's values of a record, in the file's order. Spaces in names become _.
std::vector<JsonMember> members_of(const Record& record);

}  // namespace megalith
