// Megatron-LM's console lines, character for character, because dashboards and loss-curve tools parse them. One
// difference: Megatron omits a loss whose mean is negative or NaN; here it is printed.
#pragma once
#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "observe/record.h"

namespace megalith {

using WallTime = std::chrono::system_clock::time_point;

// One line without newline, with the interval's values. The time is local time with microseconds.
std::string iteration_line(WallTime time, const Record& record, const TrainConfig& train);

// Three lines, no newline at the end: dashes, the losses and their perplexities, dashes. where: "iteration 100", or
// at the end of training "iteration 100 on validation set" and "... on test set". suffix: "" or "-NAME" with several
// validation sets.
std::string validation_lines(std::string_view where, std::span<const NamedValue> losses, std::string_view suffix = "");

double perplexity(double loss);  // exp(min(20, loss)); NaN stays NaN

class Console final : public Sink {
 public:
  explicit Console(const TrainConfig& train) : train_(train) {}
  void take(const Record& record) override;
  void take_evaluation(const Evaluated& evaluated) override;

 private:
  const TrainConfig& train_;
};

}  // namespace megalith
