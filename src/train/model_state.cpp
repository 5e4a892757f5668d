#include "train/model_state.h"

#include <algorithm>
#include <cmath>

#include "mesh/pieces.h"
#include "passes/gradients.h"

namespace megalith {

ModelState::ModelState(const PlannedStep& step, Interpreter& interpreter, const Coord& coord)
    : step_(step), interpreter_(interpreter), coord_(coord) {
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

static std::vector<float> block_of(const std::vector<float>& whole, const Mesh& mesh, const Type& t, const Coord& at) {
  std::vector<float> out(size_t(local_type(mesh, t).elements()));
  const Layout nowhere = megalith::whole(t.shape.size());
  for (Box& b : common_boxes(megalith::block_of(mesh, t.shape, nowhere, at), block_of(mesh, t.shape, t.layout, at)))
    copy_box(b, whole.data(), out.data());
  return out;
}

void ModelState::write(const StateTensor& t, const Fill& fill) {
  const Type& type = t.leaf->type;
  std::vector<float> padded(size_t(type.elements()));
  fill(std::span(padded).first(size_t(count(t.shape))));
  if (local_type(step_.plan.mesh, type).elements() != type.elements())
    padded = block_of(padded, step_.plan.mesh, type, coord_);
  write_as(interpreter_, *t.leaf, padded);
  if (t.is_weight && t.leaf->name != t.parameter->name)
    write_as(interpreter_, step_.plan.leaf(t.parameter->name), padded);
}

void ModelState::write(const StateTensor& t, std::span<const float> values) {
  check(i64(values.size()) == count(t.shape), "{} has {} values, not {}", t.name, count(t.shape), values.size());
  write(t, [&](std::span<float> to) { std::copy(values.begin(), values.end(), to.begin()); });
}

template <class F>
void ModelState::with_values(const Leaf& leaf, F&& f) const {
  const bool wide = leaf.type.dtype == DType::f32;
  const size_t n = size_t(local_type(step_.plan.mesh, leaf.type).elements());
  const std::byte* seen = interpreter_.host_view(leaf);
  if (seen && wide) return f(std::span(reinterpret_cast<const float*>(seen), n));
  std::vector<float> copy(n);
  if (wide) {
    interpreter_.read(leaf, copy.data());
  } else {
    std::vector<bf16> narrow(n);
    interpreter_.read(leaf, narrow.data());
    std::copy(narrow.begin(), narrow.end(), copy.begin());
  }
  f(std::span<const float>(copy));
}

std::vector<float> ModelState::read(const StateTensor& t) const {
  std::vector<float> out;
  with_values(*t.leaf, [&](std::span<const float> values) {
    const auto n = size_t(count(t.shape));
    check(values.size() >= n, "{} is split over ranks: one of them cannot read all of it", t.name);
    out.assign(values.begin(), values.begin() + i64(n));
  });
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

bool ModelState::counts(const Leaf& leaf) const {
  for (Axis a : kAllAxes)
    if (!leaf.type.layout.state(a).is_split() && coord_[int(a)] != 0) return false;
  return true;
}

// Of the local elements, those in rows that exist: rows are dim 0, so they come first.
i64 ModelState::true_elements(const Leaf& leaf, i64 true_rows) const {
  i64 rows = 0;
  for (const Run& r : index_runs(step_.plan.mesh, leaf.type.shape, leaf.type.layout, coord_, 0))
    rows += std::clamp<i64>(true_rows - r.start, 0, r.length);
  const Type local = local_type(step_.plan.mesh, leaf.type);
  return local.elements() / local.dim(0) * rows;
}

double ModelState::squares() const {
  double sum = 0;
  for (const StateTensor& t : tensors_)
    if (t.is_weight && counts(*t.leaf))
      with_values(*t.leaf, [&](std::span<const float> values) {
        for (const float x : values) sum += double(x) * x;  // padding is 0
      });
  return sum;
}

i64 ModelState::zeros_in_gradients() const {
  i64 zeros = 0;
  for (const Parameter& p : step_.parameters) {
    const Leaf* leaf = step_.plan.find_leaf(gradient_name(p.name));
    if (!leaf || !counts(*leaf)) continue;
    with_values(*leaf, [&](std::span<const float> values) {
      zeros += std::count(values.begin(), values.begin() + true_elements(*leaf, p.true_rows), 0.0f);
    });
  }
  return zeros;
}

}  // namespace megalith
