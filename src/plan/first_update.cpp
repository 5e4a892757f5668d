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
  // Untrained tensors change after each backward, or in the update (models/model.h, Untrained).
  const auto is_untrained = [&](int buffer) {
    const int leaf = program.buffers[size_t(buffer)].leaf;
    return leaf >= 0 && plan.leaves[size_t(leaf)].role == Role::cache;
  };
  const auto updates = [&](const Instruction& in) {
    if (in.phase == Phase::update && std::ranges::any_of(in.outs, is_state)) return true;
    return in.phase != Phase::forward && std::ranges::any_of(in.outs, is_untrained);
  };
  return size_t(std::ranges::find_if(program.instructions, updates) - program.instructions.begin());
}

}  // namespace megalith
