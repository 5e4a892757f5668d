// A T5 (Raffel et al. 2020). The encoder's attention sees all of its text. The decoder's sees earlier tokens and, by
// cross-attention, the encoder's result. Both are stacks of a GPT's layers, as in Megatron's T5Model and Google's.
//   s sequence, of the encoder or the decoder  b batch  h hidden  v padded vocabulary  k buckets of positions
#pragma once
#include "models/config.h"
#include "models/model.h"
#include "models/parallel_style.h"

namespace megalith {

// Blocks: the encoder's embedding, its layers, the decoder's layers, the head with the loss. Data leaves of the
// encoder's text: tokens and position_ids (i32 [s,b]), lengths (i32 [b], tokens that exist). Of the decoder's text,
// [s,b]: decoder_tokens, decoder_position_ids, labels (i32), loss_mask (f32, in f64 models f64). Also rows (i64 [b]).
// Term: "lm loss", the sum of the masked losses over the sum of the mask. Output: "logits" [s,b,v].
class T5 final : public Model {
 public:
  // `config` must be resolved.
  explicit T5(const ModelConfig& config, const ParallelStyle& style = {}) : config_(config), style_(style) {}

  int blocks() const override { return int(config_.num_layers + config_.t5.decoder_num_layers) + 2; }
  std::string describe(const ModelPiece& piece) const override;
  std::vector<DataInput> inputs() const override;
  std::vector<std::string> terms() const override { return {"lm loss"}; }
  // One in the encoder: its stream. Two in the decoder: the memory and its stream. One before the head: the stream.
  int messages(int block) const override;
  Built build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const override;

 private:
  ModelConfig config_;
  ParallelStyle style_;
};

}  // namespace megalith
