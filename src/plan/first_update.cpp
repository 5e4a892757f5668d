#include "plan/first_update.h"

#include <algorithm>

namespace megalith {

size_t first_update(const Plan& plan, const Program& program) {
  const auto is_state = [&](int buffer) {
    const int leaf = program.buffers[size_t(buffer)].leaf;
    if (leaf < 0) return false;
    const Role role = plan.leaves[size_t(leaf)].role;
    return role == Role::parameter || role == Role::main_parameter || role == Role::optimizer;
  };
  const auto updates = [&](const Instruction& in) {
    return in.phase == Phase::update && std::ranges::any_of(in.outs, is_state);
  };
  return size_t(std::ranges::find_if(program.instructions, updates) - program.instructions.begin());
}

}  // namespace megalith
