#include "generate/generator.h"

#include <algorithm>

#include "generate/last_logits.h"
#include "models/gpt/gpt.h"

namespace megalith {

static constexpr i64 kChunks[] = {64, 8, 1};  // tokens a program takes at once, largest first

Generator::Generator(const ModelConfig& model, DType compute, i64 max_length, const Backend& backend)
    : model_(model), max_length_(max_length) {
  check(model.position_embedding_type != PositionEmbedding::learned_absolute ||
            max_length <= model.max_position_embeddings,
        "{} tokens of prompt and answer, but the model has {} positions: ask for fewer tokens", max_length,
        model.max_position_embeddings);
  graphs_.resize(std::size(kChunks));
  std::vector<ProgramSpec> programs;
  for (size_t i = 0; i < graphs_.size(); ++i) {
    Builder b(graphs_[i]);
    Built gpt = build_gpt_decoder(b, model_, {kChunks[i], 1, max_length, precision_of(model_, compute)}, {});
    graphs_[i].outputs["logits"] = gpt.outputs.at("logits");
    run_passes(graphs_[i], standard_passes(), backend.passes_off());
    step_.parameters = std::move(gpt.parameters);
    step_.untrained.clear();
    for (Untrained& u : gpt.untrained) step_.untrained.push_back(std::move(u.tensor));
    programs.push_back({fmt::format("decode {}", kChunks[i]), &graphs_[i], {Phase::forward}});
  }
  step_.plan = plan_memory({}, programs, [&](const Graph& g, const Node& n) { return backend.workspace_bytes(g, n); });
  const i64 need = step_.plan.arena_bytes + backend.fixed_bytes(), have = backend.available_bytes();
  check(need <= have,
        "the model and its caches for {} tokens need {} MiB of memory, {} MiB are available: ask for fewer "
        "tokens",
        max_length, need >> 20, have >> 20);
  interpreter_ = backend.make_interpreter(step_.plan, Coord{});
  state_ = std::make_unique<ModelState>(step_, *interpreter_);
}

std::vector<float> Generator::run_chunk(int program, std::span<const i32> tokens, i64 length) {
  const Plan& plan = step_.plan;
  const std::string suffix = fmt::format("/{}", tokens.size());
  std::vector<i32> positions(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) positions[i] = i32(length + i64(i));
  const i32 so_far = i32(length);
  interpreter_->write(plan.leaf("tokens" + suffix), tokens.data());
  if (const Leaf* l = plan.find_leaf("position_ids" + suffix)) interpreter_->write(*l, positions.data());
  if (const Leaf* l = plan.find_leaf("length")) interpreter_->write(*l, &so_far);
  interpreter_->run(program, false);
  return last_logits(*interpreter_, plan, program, model_.vocab_size);
}

std::vector<float> Generator::feed(std::span<const i32> tokens, i64 length) {
  std::vector<float> logits;
  while (!tokens.empty()) {
    int program = 0;
    while (kChunks[program] > i64(tokens.size())) ++program;
    const size_t n = size_t(kChunks[program]);
    logits = run_chunk(program, tokens.first(n), length);
    tokens = tokens.subspan(n), length += i64(n);
  }
  return logits;
}

std::vector<i32> Generator::generate(std::span<const i32> prompt, i64 count, std::span<const i32> stops,
                                     const SamplingOptions& sampling, const std::function<void(i32)>& on_token) {
  check_sampling(sampling);
  check(!prompt.empty(), "the prompt is empty: give at least one token");
  check(i64(prompt.size()) + count <= max_length_, "{} tokens of prompt and {} to generate: at most {} together",
        prompt.size(), count, max_length_);
  for (i32 id : prompt)
    check(id >= 0 && id < model_.vocab_size, "token {} is outside the vocabulary of {}", id, model_.vocab_size);
  std::vector<i32> out;
  i64 length = i64(prompt.size());
  std::vector<float> logits = feed(prompt, 0);
  while (i64(out.size()) < count) {
    const i32 token = sample_token(logits, sampling, length);
    out.push_back(token);
    if (on_token) on_token(token);
    if (std::ranges::count(stops, token) > 0 || i64(out.size()) == count) break;
    logits = feed(std::span(&token, 1), length);
    ++length;
  }
  return out;
}

}  // namespace megalith
