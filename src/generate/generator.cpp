#include "generate/generator.h"

#include <algorithm>

#include "generate/last_logits.h"
#include "models/gpt/gpt.h"
#include "step/pipeline.h"

namespace megalith {

static constexpr i64 kChunks[] = {64, 8, 1};  // tokens a program takes at once, largest first

// Of the leaves of a chunk's program.
static std::string suffix_of(i64 tokens) { return fmt::format("/{}", tokens); }

Generator::Generator(const ModelConfig& model, DType compute, i64 max_length, const Backend& backend,
                     const GenerationRanks& ranks)
    : model_(model), max_length_(max_length), ranks_(ranks) {
  ranks_.together([&] { plan(compute, backend); });
  backend.connect(step_.plan, ranks_.coord(), links_of(step_, ranks_.coord()));
  ranks_.together([&] { open(backend); });
}

void Generator::plan(DType compute, const Backend& backend) {
  check(model_.position_embedding_type != PositionEmbedding::learned_absolute ||
            max_length_ <= model_.max_position_embeddings,
        "{} tokens of prompt and answer, but the model has {} positions: ask for fewer tokens", max_length_,
        model_.max_position_embeddings);
  graphs_.resize(std::size(kChunks));
  StagePiece piece{{0, int(model_.num_layers) + 2}};
  if (ranks_.pipeline.schedule.stages > 1)
    step_.pipeline = stage_of(ranks_.pipeline), piece = step_.pipeline->pieces.at(0);
  std::vector<ProgramSpec> programs;
  for (size_t i = 0; i < graphs_.size(); ++i) {
    Graph& g = graphs_[i];
    g.mesh = ranks_.mesh;
    Builder b(g);
    piece.suffix = suffix_of(kChunks[i]);
    Built gpt = build_gpt_decoder(b, model_, {kChunks[i], 1, max_length_, precision_of(model_, compute), piece}, {});
    if (piece.sends) g.outputs["out" + piece.suffix] = gpt.sent.at(0);
    g.outputs.insert(gpt.outputs.begin(), gpt.outputs.end());
    run_passes(g, standard_passes(), backend.passes_off());
    step_.parameters = std::move(gpt.parameters);
    step_.untrained.clear();
    for (Untrained& u : gpt.untrained) step_.untrained.push_back(std::move(u.tensor));
    programs.push_back(
        {fmt::format("decode {}", kChunks[i]), &g, {Phase::forward}, 1, messages("out", piece.sends, piece)});
  }
  step_.plan =
      plan_memory(ranks_.mesh, programs, [&](const Graph& g, const Node& n) { return backend.workspace_bytes(g, n); });
}

void Generator::open(const Backend& backend) {
  const i64 need = step_.plan.arena_bytes + backend.fixed_bytes(), have = backend.available_bytes();
  check(need <= have,
        "the model and its caches for {} tokens need {} MiB of memory, {} MiB are available: ask for fewer "
        "tokens",
        max_length_, need >> 20, have >> 20);
  interpreter_ = backend.make_interpreter(step_.plan, ranks_.coord());
  state_ = std::make_unique<ModelState>(step_, *interpreter_, ranks_.coord());
}

std::vector<float> Generator::run_chunk(int program, std::span<const i32> tokens, i64 length) {
  const Plan& plan = step_.plan;
  const std::string suffix = suffix_of(i64(tokens.size()));
  std::vector<i32> positions(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) positions[i] = i32(length + i64(i));
  const i32 so_far = i32(length);
  if (const Leaf* l = plan.find_leaf("tokens" + suffix)) interpreter_->write(*l, tokens.data());
  if (const Leaf* l = plan.find_leaf("position_ids" + suffix)) interpreter_->write(*l, positions.data());
  if (const Leaf* l = plan.find_leaf("length")) interpreter_->write(*l, &so_far);
  const int stage = ranks_.pipeline.stage;
  if (stage > 0) interpreter_->join(interpreter_->receive(plan.leaf("in" + suffix), 0, ranks_.rank_of(stage - 1), 0));
  interpreter_->run(program, false);
  if (ranks_.is_last_stage()) return last_logits(*interpreter_, plan, program, model_.vocab_size);
  interpreter_->join(interpreter_->send(plan.leaf("out" + suffix), 0, ranks_.rank_of(stage + 1), 0));
  return {};
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

void Generator::check_request(std::span<const i32> prompt, i64 count, const SamplingOptions& sampling) const {
  check_sampling(sampling);
  check(!prompt.empty(), "the prompt is empty: give at least one token");
  check(i64(prompt.size()) + count <= max_length_, "{} tokens of prompt and {} to generate: at most {} together",
        prompt.size(), count, max_length_);
  for (i32 id : prompt)
    check(id >= 0 && id < model_.vocab_size, "token {} is outside the vocabulary of {}", id, model_.vocab_size);
}

std::vector<i32> Generator::generate(std::span<const i32> prompt, i64 count, std::span<const i32> stops,
                                     const SamplingOptions& sampling, const std::function<void(i32)>& on_token) {
  ranks_.together([&] { check_request(prompt, count, sampling); });
  std::vector<i32> out;
  i64 length = i64(prompt.size());
  std::vector<float> logits = feed(prompt, 0);
  while (i64(out.size()) < count) {
    const i32 token = ranks_.agree(logits.empty() ? 0 : i32(sample_token(logits, sampling, u64(length))));
    out.push_back(token);
    if (on_token) on_token(token);
    if (std::ranges::count(stops, token) > 0 || i64(out.size()) == count) break;
    logits = feed(std::span(&token, 1), length);
    ++length;
  }
  return out;
}

}  // namespace megalith
