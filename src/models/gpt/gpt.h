// A GPT: a decoder of equal layers between an embedding and a head. The code reads as for a single device. The
// exceptions are to_tensor_parallel() and to_residual(), where tensor parallelism meets the residual stream.
//   s sequence  b batch  h hidden  g KV group  r query heads of a group  d head width  f ffn  v padded vocabulary
#pragma once
#include "models/config.h"
#include "models/moe_tallies.h"
#include "models/parallel_style.h"

namespace megalith {

// Properties of a run's data.
struct GptData {
  bool position_ids = false;     // rope reads them from the data (documents restart at 0)
  bool document_starts = false;  // attention stays inside documents
};

// Blocks: the embedding, each layer, the head with the loss. Data leaves: tokens, labels, position_ids, document_starts
// (i32 [s,b]), loss_mask (f32, in f64 models f64, [s,b]), rows (i64 [b]: sample numbers). Leaves that the model does
// not need are left out. Term: "lm loss", the sum of the masked losses over the sum of the mask. Output: "logits"
// [s,b,v]. With multi-token prediction (mtp.h) the head's block also has the modules, their data leaves and terms.
// Evaluation does not have them.
class Gpt final : public Model {
 public:
  // `config` must be resolved.
  explicit Gpt(const ModelConfig& config, const ParallelStyle& style = {}, const GptData& data = {})
      : config_(config), style_(style), data_(data) {}

  int blocks() const override { return int(config_.num_layers) + 2; }
  std::string describe(const ModelPiece& piece) const override;
  std::vector<DataInput> inputs() const override;
  std::vector<std::string> terms() const override;
  std::vector<TallySpec> tallies(const BuildMode& mode) const override { return mixture_tallies(config_, mode); }
  Built build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const override;

 private:
  ModelConfig config_;
  ParallelStyle style_;
  GptData data_;
};

// The recipe of a model that computes in one type.
Precision precision_of(const ModelConfig& config, DType compute);

// Adds the model for generation: `tokens` new tokens of each of `batch` sequences. They follow `length` tokens, whose
// keys and values are in caches (leaves of role cache, updated in place). Data leaves: tokens and position_ids (i32
// [s,b]), and length (i32 []). The first two have "/<tokens>" after their names. So programs of several sizes can share
// parameters and caches. `piece`: the blocks of a pipeline stage, or the whole model. Output of the last piece:
// "logits", whole on each rank. Other pieces send the stream.
struct DecodeShape {
  i64 tokens = 1, batch = 1;
  i64 cache_length = 0;  // maximum tokens of a sequence
  Precision precision = {};
  ModelPiece piece = {};
};
Built build_gpt_decoder(Builder& b, const ModelConfig& config, const DecodeShape& shape, const ParallelStyle& style);

}  // namespace megalith
