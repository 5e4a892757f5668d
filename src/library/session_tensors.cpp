// The tensors of a session as whole arrays.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "library/training_session.h"
#include "mesh/block_copy.h"
#include "passes/gradients.h"

namespace megalith {

// The stages of a pipeline exchange the lists of tensors that they hold. Weights come first.
void TrainingSession::list_tensors() {
  using nlohmann::json;
  json mine = json::array();
  for (const StateTensor& t : model_->tensors())
    mine.push_back({t.name, t.shape, t.is_weight, t.is_trained, int(t.dtype())});
  std::vector<std::string> all = {mine.dump()};
  if (step_->pipeline) all = ranks_->all_gather(all[0]);
  std::set<std::string> seen;
  for (const bool weights : {true, false})
    for (const std::string& text : all)
      for (const json& t : json::parse(text))
        if (t[2] == weights && seen.insert(t[0]).second) tensors_.push_back({t[0], t[1], t[2], t[3], DType(int(t[4]))});
}

const WholeTensor& TrainingSession::tensor(const std::string& name) const {
  for (const WholeTensor& t : tensors_)
    if (t.name == name) return t;
  fail("there is no tensor '{}': mgl_session_tensor_info lists them", name);
}

const StateTensor* TrainingSession::held(const std::string& name) const {
  for (const StateTensor& t : model_->tensors())
    if (t.name == name) return &t;
  return nullptr;
}

static void check_size(const WholeTensor& t, size_t given) {
  check(i64(given) == count(t.shape), "tensor {} has {} elements, not {}", t.name, count(t.shape), given);
}

static void check_f32(const WholeTensor& t) {
  check(t.dtype == DType::f32, "tensor {} is {}: only f32 ones can be read and written", t.name, name_of(t.dtype));
}

// Copies a box to its position in a tensor. The box's values are in row-major order.
static void put(const Shape& whole, const Shape& offset, const Shape& shape, const float* values, float* out) {
  for_runs(whole, offset, shape, [&](i64 first, i64 n) {
    std::copy_n(values, n, out + first);
    values += n;
  });
}

void TrainingSession::read_alone(const StateTensor& t, std::span<float> out) const {
  for (const StatePiece& piece : model_->pieces(t)) {
    std::vector<float> values(size_t(count(piece.shape)));
    model_->read(piece, 0, values);
    put(t.shape, piece.offset, piece.shape, values.data(), out.data());
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

static void put_boxes(const std::string& text, const Shape& whole, float* out) {
  const char* at = text.data();
  const auto take = [&](void* to, size_t bytes) { std::memcpy(to, at, bytes), at += bytes; };
  while (at < text.data() + text.size()) {
    Shape offset = whole, shape = whole;
    for (Shape* numbers : {&offset, &shape})
      for (i64& n : *numbers) take(&n, sizeof n);
    std::vector<float> values(size_t(count(shape)));
    take(values.data(), values.size() * sizeof(float));
    put(whole, offset, shape, values.data(), out);
  }
}

void TrainingSession::read(const std::string& name, std::span<float> out) const {
  check_whole();
  const WholeTensor& t = tensor(name);
  check_size(t, out.size()), check_f32(t);
  const StateTensor* mine = held(name);
  if (ranks_->size() == 1) return read_alone(*mine, out);
  for (const std::string& text : ranks_->all_gather(mine ? boxes_of(*model_, *mine) : ""))
    put_boxes(text, t.shape, out.data());
}

void TrainingSession::write(const std::string& name, std::span<const float> values) {
  check_whole();
  const WholeTensor& t = tensor(name);
  check_size(t, values.size()), check_f32(t);
  const StateTensor* mine = held(name);
  for (const StatePiece& piece : mine ? model_->pieces(*mine) : std::vector<StatePiece>()) {
    std::vector<float> some;
    for_runs(t.shape, piece.offset, piece.shape,
             [&](i64 first, i64 n) { some.insert(some.end(), values.begin() + first, values.begin() + first + n); });
    model_->write(piece, 0, std::span<const float>(some));
  }
  model_->finish();
}

// The leaf has a sum over the tokens of the step. Padding of the vocabulary comes after the true rows.
const Leaf& TrainingSession::gradient_of(const WholeTensor& t) const {
  const std::string& name = t.name;
  check(ranks_->size() == 1,
        "the gradient of {}: this session has {} ranks, but gradients can be read only with one rank", name,
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
  return *leaf;
}

void TrainingSession::read_gradient(const std::string& name, std::span<float> out) const {
  const WholeTensor& t = tensor(name);
  check_size(t, out.size());
  const Leaf& leaf = gradient_of(t);
  std::vector<float> sums(size_t(leaf.bytes) / sizeof(float));
  interpreter_->read(leaf, sums.data());
  double tokens = 0;
  interpreter_->read(step_->plan.leaf(kTokenSum), &tokens);
  const double factor = tokens == 0 ? 0 : 1 / tokens;
  for (size_t i = 0; i < out.size(); ++i) out[i] = float(double(sums[i]) * factor);
}

TrainingSession::View TrainingSession::view(const std::string& name) const {
  const WholeTensor& t = tensor(name);
  check(ranks_->size() == 1, "a view of {}: this session has {} ranks, but views need one rank: read the tensor", name,
        ranks_->size());
  check_f32(t);
  const std::vector<StatePiece> pieces = model_->pieces(*held(name));
  check(pieces.size() == 1 && pieces[0].shape == t.shape, "a view of {}: it is not one block: read it", name);
  std::byte* data = model_->host_view(pieces[0]);
  check(data != nullptr, "a view of {}: it lies on a device, or is kept in another precision: read it", name);
  return {data, t.shape, pieces[0].beside == nullptr};
}

TrainingSession::View TrainingSession::view_gradient_sum(const std::string& name) const {
  const WholeTensor& t = tensor(name);
  std::byte* data = interpreter_->host_view(gradient_of(t));
  check(data != nullptr, "a view of the gradient of {}: it lies on a device: read it", name);
  return {data, t.shape, false};
}

}  // namespace megalith
