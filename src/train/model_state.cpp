#include "train/model_state.h"

#include <algorithm>

namespace megalith {

ModelState::ModelState(const PlannedStep& step, Interpreter& interpreter) : step_(step), interpreter_(interpreter) {
  const Plan& plan = step.plan;
  auto add = [&](const std::string& name, const Parameter& p, const std::string& leaf, bool is_weight) {
    if (const Leaf* l = plan.find_leaf(leaf)) tensors_.push_back({name, p.true_shape(), &p, l, is_weight});
  };
  for (const Parameter& p : step.parameters) add(p.name, p, plan.find_leaf(main_name(p.name)) ? main_name(p.name) : p.name, true);
  for (const Parameter& p : step.parameters) add("optimizer.exp_avg." + p.name, p, first_moment_name(p.name), false);
  for (const Parameter& p : step.parameters) add("optimizer.exp_avg_sq." + p.name, p, second_moment_name(p.name), false);
}

static void write_as(Interpreter& to, const Leaf& leaf, const std::vector<float>& values) {
  if (leaf.type.dtype == DType::f32) return to.write(leaf, values.data());
  check(leaf.type.dtype == DType::bf16, "{} is {}: weights are written as f32 or bf16", leaf.name, name_of(leaf.type.dtype));
  const std::vector<bf16> narrow(values.begin(), values.end());
  to.write(leaf, narrow.data());
}

void ModelState::write(const StateTensor& t, std::span<const float> values) {
  check(i64(values.size()) == count(t.shape), "{} has {} values, not {}", t.name, count(t.shape), values.size());
  std::vector<float> padded(size_t(t.leaf->type.elements()), 0.0f);
  std::copy(values.begin(), values.end(), padded.begin());
  write_as(interpreter_, *t.leaf, padded);
  if (t.is_weight && t.leaf->name != t.parameter->name)
    write_as(interpreter_, step_.plan.leaf(t.parameter->name), padded);
}

std::vector<float> ModelState::read(const StateTensor& t) const {
  std::vector<float> out(size_t(t.leaf->type.elements()));
  if (t.leaf->type.dtype == DType::f32) {
    interpreter_.read(*t.leaf, out.data());
  } else {
    std::vector<bf16> narrow(out.size());
    interpreter_.read(*t.leaf, narrow.data());
    std::copy(narrow.begin(), narrow.end(), out.begin());
  }
  out.resize(size_t(count(t.shape)));
  return out;
}

void ModelState::initialise(u64 seed) {
  for (const StateTensor& t : tensors_) {
    if (!t.is_weight) continue;
    std::vector<float> values(size_t(t.leaf->type.elements()));
    init_parameter(*t.parameter, step_.plan.mesh, Coord{}, seed, values.data());
    values.resize(size_t(count(t.shape)));
    write(t, values);
  }
}

}  // namespace megalith
