#include "cli/golden/held_model.h"

#include <algorithm>

#include "models/make_model.h"
#include "ops/update.h"
#include "optim/optimizer.h"
#include "passes/gradients.h"
#include "step/step_batches.h"

namespace megalith {

HeldModel::HeldModel(const Backend& backend, const HeldSpec& held) : optimizer_(held.optimizer) {
  StepSpec spec;
  spec.model = make_model(held.model, ParallelStyle{.pack_qkv = true});
  spec.optimizer = held.optimizer;
  spec.mode.batch = held.batch;
  spec.mode.precision = held.precision;
  spec.evaluate = spec.keep_outputs = true;
  spec.keep_training_outputs = held.training_outputs;
  spec.passes_off = {"mark-rows"};  // gradients are read whole
  step_ = plan_step(spec, backend);
  interpreter_ = backend.make_interpreter(step_.plan, Coord{});
  state_ = std::make_unique<ModelState>(step_, *interpreter_);
}

void HeldModel::run(const std::string& program, const Batch& batch, bool first) {
  Batch all = batch;  // of a step whose micro-batches have equal masks
  for (auto& [name, counts] : step_counts({&batch, 1}, step_.inputs)) all.floats(name) = std::move(counts);
  Feed(step_.plan, step_.inputs, *interpreter_, Coord{})(all);
  interpreter_->run(step_.plan.index_of(program), first);
}

void HeldModel::write_rates(i64 step) {
  std::vector<double> h = {optimizer_.lr, optimizer_.weight_decay, 0, 0};
  optimizer_.chosen().write_scalars(step, h.data() + step_scalars_in::kOwn);
  interpreter_->write(step_.plan.leaf("step_scalars_in"), h.data());
}

std::vector<double> HeldModel::scalars(const std::string& program, const std::string& output) const {
  const auto values = interpreter_->scalars(step_.plan.index_of(program), output);
  return {values.begin(), values.end()};
}

const Type* HeldModel::find_output(const std::string& program, const std::string& name) const {
  const Program& p = step_.plan.program(program);
  const auto at = p.outputs.find(name);
  return at == p.outputs.end() ? nullptr : &p.buffers[at->second].type;
}

std::vector<float> HeldModel::output(const std::string& program, const std::string& name) const {
  const Type* type = find_output(program, name);
  check(type != nullptr, "our model has no output {}", name);
  const auto read = [&](auto example) {
    std::vector<decltype(example)> out(size_t(type->elements()));
    interpreter_->read_output(step_.plan.index_of(program), name, out.data());
    return std::vector<float>(out.begin(), out.end());
  };
  if (type->dtype == DType::f32) return read(float());
  if (type->dtype == DType::bf16) return read(bf16());
  if (type->dtype == DType::f16) return read(f16());
  if (type->dtype == DType::i32) return read(i32());
  fail("output {} is {}: want f32, bf16, f16 or i32", name, name_of(type->dtype));
}

std::vector<float> HeldModel::logits(const std::string& program, i64 vocab_size) const {
  const std::vector<float> ours = output(program, "logits");  // [s,b,v], with padding
  const Type type = *find_output(program, "logits");
  std::vector<float> out;
  for (i64 b = 0; b < type.dim(1); ++b)
    for (i64 s = 0; s < type.dim(0); ++s) {
      const auto row = ours.begin() + (s * type.dim(1) + b) * type.dim(2);
      out.insert(out.end(), row, row + vocab_size);
    }
  return out;
}

double HeldModel::sum(const std::string& leaf) const {
  double value = 0;
  interpreter_->read(step_.plan.leaf(leaf), &value);
  return value;
}

double HeldModel::tallied(const std::string& name) const {
  std::vector<double> values(size_t(step_.tallies.numbers()));
  interpreter_->read(step_.plan.leaf(kTally), values.data());
  return values.at(size_t(step_.tallies.of(name).at));
}

template <class F>
std::vector<float> HeldModel::packed(const TensorMapping& mapping, size_t theirs, F&& values_of) {
  std::vector<float> out(size_t(count(mapping.theirs[theirs].shape)));
  for (const TensorLink& link : mapping.links)
    if (link.theirs == theirs)
      pack(link.block, DType::f32, values_of(mapping.ours[link.ours].name).data(),
           reinterpret_cast<std::byte*>(out.data()));
  return out;
}

std::vector<float> HeldModel::gradient(const TensorMapping& mapping, size_t theirs, double scale) const {
  return packed(mapping, theirs, [&](const std::string& name) {
    const Leaf& leaf = step_.plan.leaf(gradient_name(name));
    std::vector<float> ours(size_t(leaf.type.elements()));
    interpreter_->read(leaf, ours.data());
    for (float& x : ours) x = float(x * scale);
    return ours;
  });
}

std::vector<float> HeldModel::weight(const TensorMapping& mapping, size_t theirs) const {
  return packed(mapping, theirs, [&](const std::string& name) { return tensor(name); });
}

std::vector<float> HeldModel::tensor(const std::string& name) const {
  const auto t = std::ranges::find(state_->tensors(), name, &StateTensor::name);
  check(t != state_->tensors().end(), "our model has no tensor {}", name);
  std::vector<float> out(size_t(count(t->shape)));
  for (const StatePiece& piece : state_->pieces(*t)) state_->read(piece, 0, out);  // one rank has it in one piece
  return out;
}

}  // namespace megalith
