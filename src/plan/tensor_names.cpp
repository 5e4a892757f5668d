#include "plan/tensor_names.h"

#include <algorithm>
#include <map>

namespace megalith {

namespace {

std::string place_of(const Instruction& in) {
  const Origin& o = in.origin;
  std::string out = in.phase == Phase::forward ? "" : std::string(name_of(in.phase)) + ".";
  if (!o.stack.empty()) out += o.stack + ".";
  if (o.layer >= 0) out += "layers." + std::to_string(o.layer) + ".";
  out += o.module.empty() ? "step" : o.module;
  if (o.norm) out += ".norm";
  if (o.recomputed) out += ".again";
  std::ranges::replace(out, ' ', '_');
  return out + "." + std::string(in.op.name());
}

}  // namespace

std::vector<std::string> tensor_names(const Program& program) {
  std::map<std::string, int> seen;
  std::vector<std::string> out;
  for (const Instruction& in : program.instructions) {
    const std::string place = place_of(in);
    out.push_back(place + "." + std::to_string(seen[place]++));
  }
  return out;
}

std::string parameter_of(const Plan& plan, const Program& program, const Instruction& in) {
  for (const std::vector<int>* buffers : {&in.ins, &in.outs})
    for (const int b : *buffers) {
      const int leaf = program.buffers[size_t(b)].leaf;
      if (leaf < 0) continue;
      const Leaf& of = plan.leaves[size_t(leaf)];
      if (of.role == Role::parameter || of.role == Role::gradient) return of.name;
    }
  return {};
}

}  // namespace megalith
