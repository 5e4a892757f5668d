// Megatron-LM's console lines to the letter, since dashboards and loss-curve tools parse them. One deliberate
// difference: Megatron leaves a loss out when its mean is negative or NaN; here it is printed.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "step/iteration_record.h"

namespace megalith {

using WallTime = std::chrono::system_clock::time_point;

// One line, no newline. The time is printed as local time with microseconds. `speed`, with --log-throughput: Megatron's
// key with TFLOP/s, and behind it some of our own: tokens/s, MFU where it is known, and the wait for data.
std::string iteration_line(WallTime time, const IterationRecord& record, const Interval& interval,
                           const std::optional<Speed>& speed = {});

// Three lines, no newline at the end: dashes, the losses and their perplexities, dashes. where: "iteration 100", or
// "iteration 100 on validation set" and "... on test set" at the end of training. suffix: "" or "-NAME" with several
// validation sets.
std::string validation_lines(std::string_view where, std::span<const NamedValue> losses, std::string_view suffix = "");

double perplexity(double loss);  // exp(min(20, loss)); NaN stays NaN

}  // namespace megalith
