// The tensors of a session as whole arrays.
#include <algorithm>
#include <cstring>

#include "library/training_session.h"
#include "mesh/block_copy.h"
#include "passes/gradients.h"

namespace megalith {

const StateTensor& TrainingSession::tensor(const std::string& name) const {
  for (const StateTensor& t : tensors())
    if (t.name == name) return t;
  fail("there is no tensor '{}': mgl_session_tensor_info lists them", name);
}

static void check_size(const StateTensor& t, size_t given) {
  check(i64(given) == count(t.shape), "tensor {} has {} elements, not {}", t.name, count(t.shape), given);
}

static void check_f32(const StateTensor& t) {
  check(t.dtype() == DType::f32, "tensor {} is {}: only f32 ones can be read and written", t.name, name_of(t.dtype()));
}

// Of a box of a tensor, in its order.
static void put(const StateTensor& t, const Shape& offset, const Shape& shape, const float* values, float* out) {
  for_runs(t.shape, offset, shape, [&](i64 first, i64 n) {
    std::copy_n(values, n, out + first);
    values += n;
  });
}

void TrainingSession::read_alone(const StateTensor& t, std::span<float> out) const {
  for (const StatePiece& piece : model_->pieces(t)) {
    std::vector<float> values(size_t(count(piece.shape)));
    model_->read(piece, 0, values);
    put(t, piece.offset, piece.shape, values.data(), out.data());
  }
}

// A rank's boxes of a tensor as text: offset, shape and values of each.
static std::string boxes_of(const ModelState& model, const StateTensor& t) {
  std::string out;
  const auto add = [&](const void* data, size_t bytes) { out.append(static_cast<const char*>(data), bytes); };
  for (const StatePiece& piece : model.saved_pieces(t, false)) {
    std::vector<float> values(size_t(count(piece.shape)));
    model.read(piece, 0, values);
    for (const Shape* numbers : {&piece.offset, &piece.shape})
      for (const i64 n : *numbers) add(&n, sizeof n);
    add(values.data(), values.size() * sizeof(float));
  }
  return out;
}

static void put_boxes(const std::string& text, const StateTensor& t, float* out) {
  const char* at = text.data();
  const auto take = [&](void* to, size_t bytes) { std::memcpy(to, at, bytes), at += bytes; };
  while (at < text.data() + text.size()) {
    Shape offset = t.shape, shape = t.shape;
    for (Shape* numbers : {&offset, &shape})
      for (i64& n : *numbers) take(&n, sizeof n);
    std::vector<float> values(size_t(count(shape)));
    take(values.data(), values.size() * sizeof(float));
    put(t, offset, shape, values.data(), out);
  }
}

void TrainingSession::read(const std::string& name, std::span<float> out) const {
  check_whole();
  const StateTensor& t = tensor(name);
  check_size(t, out.size()), check_f32(t);
  if (ranks_->size() == 1) return read_alone(t, out);
  for (const std::string& text : ranks_->all_gather(boxes_of(*model_, t))) put_boxes(text, t, out.data());
}

void TrainingSession::write(const std::string& name, std::span<const float> values) {
  check_whole();
  const StateTensor& t = tensor(name);
  check_size(t, values.size()), check_f32(t);
  for (const StatePiece& piece : model_->pieces(t)) {
    std::vector<float> some;
    for_runs(t.shape, piece.offset, piece.shape,
             [&](i64 first, i64 n) { some.insert(some.end(), values.begin() + first, values.begin() + first + n); });
    model_->write(piece, 0, std::span<const float>(some));
  }
  model_->finish();
}

// The leaf sums over the tokens of the step, and the vocabulary's padding lies behind the true rows.
void TrainingSession::read_gradient(const std::string& name, std::span<float> out) const {
  const StateTensor& t = tensor(name);
  check_size(t, out.size());
  check(ranks_->size() == 1, "the gradient of {}: this session has {} ranks, and gradients are read of one alone", name,
        ranks_->size());
  check(t.is_weight && t.is_trained, "tensor {} has no gradient: only weights that are trained have", name);
  check(has_gradients_, "there is no gradient of {} yet: it is that of the last step of this session", name);
  check(!step_->loss_scaling, "gradients of --fp16 are those of a scaled loss: read them with --bf16 or in f32");
  const Leaf* leaf = step_->plan.find_leaf(gradient_name(name));
  check(leaf != nullptr, "the gradient of {} is not kept", name);
  check(!step_->plan.find_leaf(leaf->name + ".rows"),
        "of the gradient of {} only the rows of the step's tokens are made: give log-num-zeros-in-grad to read it",
        name);
  check(leaf->type.dtype == DType::f32, "the gradient of {} is {}: only f32 ones can be read", name,
        name_of(leaf->type.dtype));
  std::vector<float> sums(size_t(leaf->bytes) / sizeof(float));
  interpreter_->read(*leaf, sums.data());
  double tokens = 0;
  interpreter_->read(step_->plan.leaf(kTokenSum), &tokens);
  const double factor = tokens == 0 ? 0 : 1 / tokens;
  for (size_t i = 0; i < out.size(); ++i) out[i] = float(double(sums[i]) * factor);
}

}  // namespace megalith
