// The metrics file: one JSON object a line, one line per logged iteration, flushed as it is written, for scripts and
// dashboards.
//   {"iteration":10,"consumed_samples":40,"lm_loss":9.5,"learning_rate":0.001,"grad_norm":1.25,"iteration_ms":80.5,...}
// JSON has no NaN or infinity: such a value is null, and a last member says which it was: "nonfinite":{"lm_loss":"nan"}
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
  // Opens the file for a run that starts behind `iteration` (json_lines.h). Error if it holds other things than metrics
  // lines or cannot be opened.
  MetricsFile(const std::filesystem::path& path, i64 iteration);

  void take(const Record& record) override;  // a line for each interval
  void take_evaluation(const Evaluated& evaluated) override;
  void write(i64 iteration, std::span<const JsonMember> members);  // a full disk: warns once, goes on

 private:
  AppendFile file_;
};

// The line without its newline.
std::string metrics_line(i64 iteration, std::span<const JsonMember> members);

// The interval's values of a record, in the file's order. Of names, _ stands for spaces.
std::vector<JsonMember> members_of(const Record& record);

}  // namespace megalith
