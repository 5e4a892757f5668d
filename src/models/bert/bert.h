// BERT (Devlin 2018): a stack whose attention sees the whole sequence, in the forms of Megatron and Hugging Face:
//   x = word[tokens] + position + token_type[types], then (embedding_layernorm) a norm
//   pre-norm:   x += attention(norm(x)); x += mlp(norm(x)); a norm after the last layer
//   post-norm:  x = norm(x + attention(x)); x = norm(x + mlp(x))
//   logits = norm(gelu(dense x)) word^T + bias            [s,b,v]; this GELU is the exact one
//   binary = head(tanh(pooler x[position 0]))             [b,2]
// The loss is the mean over masked tokens of the global batch. With the binary head it also has the mean of the
// sequences' cross entropies. Letters as in models/gpt.
#pragma once
#include "models/config.h"
#include "models/model.h"
#include "models/parallel_style.h"

namespace megalith {

inline constexpr const char* kOrderTerm = "sop loss";  // as Megatron logs it

// Blocks: the embedding, each layer, the heads with the losses. Data leaves: tokens, types, position_ids, labels (i32
// [s,b]), loss_mask (f32 [s,b]), lengths (i32 [b]: keys from there on are not seen), rows (i64 [b]). With the binary
// head also first_token (f32 [s,b]: 1 at position 0), is_random (i32 [b]: the label) and pair_mask (f32 [b]: 1 if the
// sequence counts). Terms: "lm loss", kOrderTerm. Outputs: "logits" [s,b,v], "binary_logits" [b,1,2].
class Bert final : public Model {
 public:
  // `config` must be resolved.
  explicit Bert(const ModelConfig& config, const ParallelStyle& style = {}) : config_(config), style_(style) {}

  int blocks() const override { return int(config_.num_layers) + 2; }
  std::string describe(const ModelPiece& piece) const override;
  std::vector<DataInput> inputs() const override;
  std::vector<std::string> terms() const override;
  Built build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const override;

 private:
  ModelConfig config_;
  ParallelStyle style_;
};

}  // namespace megalith
