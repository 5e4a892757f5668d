#include "train/model_state.h"

#include <algorithm>
#include <cmath>

#include "mesh/pieces.h"
#include "passes/gradients.h"

namespace megalith {

ModelState::ModelState(const PlannedStep& step, Interpreter& interpreter, const Coord& coord)
    : step_(step), interpreter_(interpreter), coord_(coord) {
  const Plan& plan = step.plan;
  const auto add = [&](const std::string& name, const Parameter& p, std::string (*state)(const std::string&)) {
    const bool is_weight = state == main_name;
    const Leaf* leaf = plan.find_leaf(state(p.name));
    if (!step.pools.empty()) leaf = plan.find_leaf(gradient_name(p.name));
    if (!leaf && is_weight) leaf = plan.find_leaf(p.name);
    if (leaf) tensors_.push_back({name, p.true_shape(), &p, leaf, is_weight, step.pools.empty() ? "" : state("")});
  };
  for (const Parameter& p : step.parameters) add(p.name, p, main_name);
  for (const Parameter& p : step.parameters) add("optimizer.exp_avg." + p.name, p, first_moment_name);
  const bool adam = step.pools.empty() || plan.find_program("take" + second_moment_name(""));
  for (const Parameter& p : step.parameters)
    if (adam) add("optimizer.exp_avg_sq." + p.name, p, second_moment_name);
}

bool ModelState::has(const std::string& name) const {
  return std::any_of(tensors_.begin(), tensors_.end(), [&](const StateTensor& t) { return t.name == name; });
}

void ModelState::run(const std::string& program) const {
  interpreter_.run(int(step_.plan.find_program(program) - step_.plan.programs.data()), true);
}

void ModelState::begin_writing(const std::string& cut) {
  if (writing_ == cut) return;
  finish();
  writing_ = cut;
}

void ModelState::finish() {
  if (!writing_.empty()) run("take" + writing_);
  writing_.clear(), reading_.clear();
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
  begin_writing(t.cut);
  std::vector<float> padded(size_t(type.elements()));
  fill(std::span(padded).first(size_t(count(t.shape))));
  if (local_type(step_.plan.mesh, type).elements() != type.elements())
    padded = block_of(padded, step_.plan.mesh, type, coord_);
  if (!t.cut.empty() && !gives_values(*t.leaf)) padded.assign(padded.size(), 0);
  write_as(interpreter_, *t.leaf, padded);
  if (t.is_weight && t.cut.empty() && t.leaf->name != t.parameter->name)
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
  if (t.cut != reading_) run("give" + t.cut), reading_ = t.cut;
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
    begin_writing(t.cut);
    if (t.cut.empty() || gives_values(*t.leaf)) interpreter_.draw(*t.leaf, start);
    if (t.cut.empty() && t.leaf->name != t.parameter->name)
      interpreter_.draw(step_.plan.leaf(t.parameter->name), start);
  }
  finish();
}

bool ModelState::counts(const Leaf& leaf) const {
  for (Axis a : kAllAxes)
    if (a != Axis::pp && !leaf.type.layout.state(a).is_split() && coord_[int(a)] != 0) return false;
  return true;
}

bool ModelState::gives_values(const Leaf& gradient) const {
  for (Axis a : gradient.type.layout.partial.list())
    if (coord_[int(a)] != 0) return false;
  return true;
}

bool ModelState::counts_elsewhere(const Parameter& p) const { return p.tied && coord_[int(Axis::pp)] != 0; }

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
  if (!step_.pools.empty()) run("give" + main_name("")), reading_ = main_name("");
  for (const StateTensor& t : tensors_)
    if (t.is_weight && counts(*t.leaf) && !counts_elsewhere(*t.parameter))
      with_values(*t.leaf, [&](std::span<const float> values) {
        for (const float x : values) sum += double(x) * x;  // padding is 0
      });
  return sum;
}

i64 ModelState::zeros_in_gradients() const {
  i64 zeros = 0;
  for (const Parameter& p : step_.parameters) {
    const Leaf* leaf = step_.plan.find_leaf(gradient_name(p.name));
    if (!leaf || !counts(*leaf) || counts_elsewhere(p)) continue;
    with_values(*leaf, [&](std::span<const float> values) {
      zeros += std::count(values.begin(), values.begin() + true_elements(*leaf, p.true_rows), 0.0f);
    });
  }
  return zeros;
}

}  // namespace megalith
