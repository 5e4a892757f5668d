#include "generate/mask_filler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/gpt/gpt.h"
#include "models/make_model.h"
#include "step/feed.h"

namespace megalith {
namespace {

// Without targets: nothing counts.
Batch batch_of(std::span<const i32> text) {
  Batch b{.sequences = 1, .seq_length = i64(text.size())};
  b.ints("tokens").assign(text.begin(), text.end());
  b.ints("types").resize(text.size()), b.ints("labels").resize(text.size());
  b.floats("loss_mask").resize(text.size());
  b.ints("lengths") = {i32(text.size())}, b.ints("is_random") = {0}, b.longs("rows") = {0};
  return b;
}

// Of the first `known` ids; probabilities are over all.
std::vector<Guess> likeliest(std::span<const float> logits, i64 count, i64 known) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(double(x) - most);
  std::vector<i32> order(std::min(logits.size(), size_t(known)));
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + std::min(count, i64(order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](i32 a, i32 b) {
    const float x = logits[size_t(a)], y = logits[size_t(b)];
    return x > y || (x == y && a < b);
  });
  std::vector<Guess> out;
  for (auto id = order.begin(); id != end; ++id)
    out.push_back({*id, std::exp(double(logits[size_t(*id)]) - most) / sum});
  return out;
}

}  // namespace

MaskFiller::MaskFiller(const ModelConfig& model, DType compute, i64 length, const Backend& backend) : model_(model) {
  check(model.position_embedding_type != PositionEmbedding::learned_absolute || length <= model.max_position_embeddings,
        "the prompt has {} tokens, but the model has {} positions: shorten it", length, model.max_position_embeddings);
  model_.seq_length = length;
  StepSpec spec;
  spec.model = make_model(model_, ParallelStyle{.pack_qkv = true});
  spec.mode.precision = precision_of(model_, compute);
  spec.train = false, spec.evaluate = spec.keep_outputs = true;
  step_ = plan_step(spec, backend);
  interpreter_ = backend.make_interpreter(step_.plan, Coord{});
  state_ = std::make_unique<ModelState>(step_, *interpreter_);
}

std::vector<std::vector<Guess>> MaskFiller::guess(std::span<const i32> text, std::span<const i64> at, i64 count,
                                                  i64 known) {
  check(i64(text.size()) == model_.seq_length, "a text of {} tokens for a plan of {}", text.size(), model_.seq_length);
  for (const i32 id : text)
    check(id >= 0 && id < model_.vocab_size, "token {} is outside the vocabulary of {}", id, model_.vocab_size);
  Feed(step_.plan, step_.inputs, *interpreter_, Coord{})(batch_of(text));
  const int program = step_.plan.index_of("evaluate");
  interpreter_->run(program, true);
  const Program& p = step_.plan.programs[size_t(program)];
  const Type& type = p.buffers[p.outputs.at("logits")].type;  // [s,1,v]
  std::vector<std::byte> bytes(size_t(type.bytes()));
  interpreter_->read_output(program, "logits", bytes.data());
  std::vector<std::vector<Guess>> out;
  for (const i64 position : at) {
    std::vector<float> logits(size_t(model_.vocab_size));
    for (size_t v = 0; v < logits.size(); ++v) {
      const size_t i = size_t(position * type.dim(2)) + v;
      logits[v] = type.dtype == DType::bf16 ? float(reinterpret_cast<const bf16*>(bytes.data())[i])
                                            : reinterpret_cast<const float*>(bytes.data())[i];
    }
    out.push_back(likeliest(logits, count, known));
  }
  return out;
}

}  // namespace megalith
