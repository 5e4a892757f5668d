#include "generate/t5_generator.h"

#include <algorithm>
#include <numeric>

#include "generate/last_logits.h"
#include "models/gpt/gpt.h"
#include "models/t5/decode.h"

namespace megalith {

namespace {

constexpr const char* kRead = "read";
constexpr const char* kAnswer = "answer";

// Both programs name the parameters that they share.
void add_new(std::vector<Parameter>& to, const std::vector<Parameter>& from) {
  for (const Parameter& p : from)
    if (std::ranges::find(to, p.name, &Parameter::name) == to.end()) to.push_back(p);
}

void check_lengths(const ModelConfig& model, i64 source, i64 length) {
  check(source > 0, "the prompt has no tokens: give at least one");
  check(length > 0, "an answer of {} tokens: ask for one or more", length);
  if (model.position_embedding_type != PositionEmbedding::learned_absolute) return;
  const i64 most = model.max_position_embeddings;
  check(source <= most, "the prompt has {} tokens, but the model has {} positions: shorten it", source, most);
  check(length <= most, "--tokens-to-generate is {}, but the model has {} positions: give {} or less", length, most,
        most);
}

}  // namespace

T5Generator::T5Generator(const ModelConfig& model, DType compute, i64 source, i64 length, const Backend& backend,
                         const GenerationRanks& ranks)
    : model_(model), source_(source), length_(length), ranks_(ranks) {
  ranks_.together([&] { plan(compute, backend); });
  backend.connect(step_.plan, ranks_.coord());
  ranks_.together([&] { open(backend); });
}

void T5Generator::plan(DType compute, const Backend& backend) {
  check_lengths(model_, source_, length_);
  const T5DecodeShape shape{source_, length_, precision_of(model_, compute)};
  for (Graph* g : {&encoding_, &decoding_}) {
    g->mesh = ranks_.mesh;
    Builder b(*g);
    Built built = g == &encoding_ ? build_t5_encoding(b, model_, shape) : build_t5_decoding(b, model_, shape);
    g->outputs.insert(built.outputs.begin(), built.outputs.end());
    run_passes(*g, standard_passes(), backend.passes_off());
    add_new(step_.parameters, built.parameters);
  }
  step_.plan =
      plan_memory(ranks_.mesh, {{kRead, &encoding_, {Phase::forward}}, {kAnswer, &decoding_, {Phase::forward}}},
                  [&](const Graph& g, const Node& n) { return backend.workspace_bytes(g, n); });
}

void T5Generator::open(const Backend& backend) {
  const i64 need = step_.plan.arena_bytes + backend.fixed_bytes(), have = backend.available_bytes();
  check(need <= have,
        "the model and its caches for {} and {} tokens need {} MiB of memory, {} MiB are available: ask for fewer",
        source_, length_, need >> 20, have >> 20);
  interpreter_ = backend.make_interpreter(step_.plan, ranks_.coord());
  state_ = std::make_unique<ModelState>(step_, *interpreter_, ranks_.coord());
}

void T5Generator::check_token(i32 id) const {
  check(id >= 0 && id < model_.vocab_size, "token {} is outside the vocabulary of {}", id, model_.vocab_size);
}

void T5Generator::check_text(std::span<const i32> text) const {
  check(i64(text.size()) == source_, "a text of {} tokens for a plan of {}", text.size(), source_);
  for (const i32 id : text) check_token(id);
}

void T5Generator::read(std::span<const i32> text) {
  check_text(text);
  const Plan& plan = step_.plan;
  std::vector<i32> positions(text.size());
  std::iota(positions.begin(), positions.end(), 0);
  interpreter_->write(plan.leaf("tokens"), text.data());
  if (const Leaf* l = plan.find_leaf("position_ids")) interpreter_->write(*l, positions.data());
  interpreter_->run(plan.index_of(kRead), false);
  read_ = 0;
}

std::vector<float> T5Generator::next(i32 token) {
  check_token(token);
  check(read_ < length_, "the answer has {} tokens, for which its caches have been made: ask for fewer", length_);
  const Plan& plan = step_.plan;
  const auto at = i32(read_++);
  interpreter_->write(plan.leaf("decoder_tokens/1"), &token);
  for (const char* name : {"decoder_position_ids/1", "position_ids/1", "length"})
    if (const Leaf* l = plan.find_leaf(name)) interpreter_->write(*l, &at);
  const int program = plan.index_of(kAnswer);
  interpreter_->run(program, false);
  return last_logits(*interpreter_, plan, program, model_.vocab_size);
}

std::vector<i32> T5Generator::generate(std::span<const i32> text, i32 start, i64 count, std::span<const i32> stops,
                                       const SamplingOptions& sampling) {
  ranks_.together([&] {
    check_sampling(sampling);
    check(count <= length_, "{} tokens to generate: at most {}", count, length_);
    check_text(text);
  });
  read(text);
  std::vector<i32> out;
  for (i32 token = start; i64(out.size()) < count;) {
    token = ranks_.agree(i32(sample_token(next(token), sampling, u64(out.size()))));
    out.push_back(token);
    if (std::ranges::count(stops, token) > 0) break;
  }
  return out;
}

}  // namespace megalith
