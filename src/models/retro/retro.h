// A RETRO (Borgeaud et al. 2022), after Megatron's RetroModel: a GPT with layers that attend to neighbours of the text.
// The neighbours were searched in a database in advance. A chunk's neighbours are seen by its last token, and by all
// tokens of the next chunk but the last. So no token sees later text.
#pragma once
#include "models/config.h"
#include "models/model.h"
#include "models/parallel_style.h"

namespace megalith {

// Blocks: the embedding, each layer, the head with the loss. Data leaves: tokens, labels, position_ids (i32), loss_mask
// (f32, in f64 models f64), [s,b]; rows (i64 [b]); those of neighbor_encoder.h; cross_mask [s,b], 0 for the first
// tokens, which have no neighbours. neighbor_tokens of a batch are [b, chunks, neighbours, tokens]. Term: "lm loss".
// Output: "logits" [s,b,v].
class Retro final : public Model {
 public:
  // `config` must be resolved, with a retriever.
  explicit Retro(const ModelConfig& config, const ParallelStyle& style = {}) : config_(config), style_(style) {}

  int blocks() const override { return int(config_.num_layers) + 2; }
  std::string describe(const ModelPiece& piece) const override;
  std::vector<DataInput> inputs() const override;
  std::vector<std::string> terms() const override { return {"lm loss"}; }
  // Error unless the piece is the whole model.
  Built build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const override;

 private:
  ModelConfig config_;
  ParallelStyle style_;
};

}  // namespace megalith
