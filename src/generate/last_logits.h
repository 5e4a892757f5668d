// Logits of a program for the token after its last one.
#pragma once
#include <vector>

#include "plan/interpreter.h"

namespace megalith {

// The last row of the output "logits" [s,1,v] of the plan's program, as f32: its first `vocab` numbers.
std::vector<float> last_logits(Interpreter& interpreter, const Plan& plan, int program, i64 vocab);

}  // namespace megalith
