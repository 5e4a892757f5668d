// Runs a plan against a clock. It computes and stores nothing; every number that is read is 0.
#pragma once
#include <memory>

#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith::sim {

// busy_seconds(): the predicted time of the runs since the last call. time_instructions(): that of each instruction.
std::unique_ptr<Interpreter> make_paper_interpreter(const Plan& plan, const Coord& coord, const DeviceFacts& facts);

}  // namespace megalith::sim
