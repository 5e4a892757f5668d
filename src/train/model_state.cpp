#include "train/model_state.h"

#include <algorithm>
#include <cmath>

#include "passes/gradients.h"

namespace megalith {

ModelState::ModelState(const PlannedStep& step, Interpreter& interpreter) : step_(step), interpreter_(interpreter) {
  const Plan& plan = step.plan;
  auto add = [&](const std::string& name, const Parameter& p, const std::string& leaf, bool is_weight) {
    if (const Leaf* l = plan.find_leaf(leaf)) tensors_.push_back({name, p.true_shape(), &p, l, is_weight});
  };
  for (const Parameter& p : step.parameters)
    add(p.name, p, plan.find_leaf(main_name(p.name)) ? main_name(p.name) : p.name, true);
  for (const Parameter& p : step.parameters) add("optimizer.exp_avg." + p.name, p, first_moment_name(p.name), false);
  for (const Parameter& p : step.parameters)
    add("optimizer.exp_avg_sq." + p.name, p, second_moment_name(p.name), false);
}

static void write_as(Interpreter& to, const Leaf& leaf, const std::vector<float>& values) {
  if (leaf.type.dtype == DType::f32) return to.write(leaf, values.data());
  check(leaf.type.dtype == DType::bf16, "{} is {}: weights are written as f32 or bf16", leaf.name,
        name_of(leaf.type.dtype));
  const std::vector<bf16> narrow(values.begin(), values.end());
  to.write(leaf, narrow.data());
}

void ModelState::write(const StateTensor& t, const Fill& fill) {
  std::vector<float> padded(size_t(t.leaf->type.elements()));
  fill(std::span(padded).first(size_t(count(t.shape))));
  write_as(interpreter_, *t.leaf, padded);
  if (t.is_weight && t.leaf->name != t.parameter->name)
    write_as(interpreter_, step_.plan.leaf(t.parameter->name), padded);
}

void ModelState::write(const StateTensor& t, std::span<const float> values) {
  check(i64(values.size()) == count(t.shape), "{} has {} values, not {}", t.name, count(t.shape), values.size());
  write(t, [&](std::span<float> to) { std::copy(values.begin(), values.end(), to.begin()); });
}

template <class F>
void ModelState::with_values(const Leaf& leaf, i64 n, F&& f) const {
  const bool wide = leaf.type.dtype == DType::f32;
  const std::byte* seen = interpreter_.host_view(leaf);
  if (seen && wide) return f(std::span(reinterpret_cast<const float*>(seen), size_t(n)));
  std::vector<float> copy(size_t(leaf.type.elements()));
  if (wide) {
    interpreter_.read(leaf, copy.data());
  } else {
    std::vector<bf16> narrow(copy.size());
    interpreter_.read(leaf, narrow.data());
    std::copy(narrow.begin(), narrow.end(), copy.begin());
  }
  f(std::span<const float>(copy).first(size_t(n)));
}

std::vector<float> ModelState::read(const StateTensor& t) const {
  std::vector<float> out;
  with_values(*t.leaf, count(t.shape),
              [&](std::span<const float> values) { out.assign(values.begin(), values.end()); });
  return out;
}

void ModelState::initialise(u64 seed) {
  for (const StateTensor& t : tensors_) {
    if (!t.is_weight) continue;
    const Draw start = start_of(*t.parameter, seed);
    interpreter_.draw(*t.leaf, start);
    if (t.leaf->name != t.parameter->name) interpreter_.draw(step_.plan.leaf(t.parameter->name), start);
  }
}

double ModelState::norm() const {
  double sum = 0;
  for (const StateTensor& t : tensors_)
    if (t.is_weight)
      with_values(*t.leaf, count(t.shape), [&](std::span<const float> values) {
        for (const float x : values) sum += double(x) * x;
      });
  return std::sqrt(sum);
}

i64 ModelState::zeros_in_gradients() const {
  i64 zeros = 0;
  for (const Parameter& p : step_.parameters)
    if (const Leaf* leaf = step_.plan.find_leaf(gradient_name(p.name)))
      with_values(*leaf, count(p.true_shape()),
                  [&](std::span<const float> values) { zeros += std::count(values.begin(), values.end(), 0.0f); });
  return zeros;
}

}  // namespace megalith
