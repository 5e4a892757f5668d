// The file of experts' tokens: --save-tokens-per-expert-interval. One JSON object a line, one for each layer with
// experts, with Megatron's keys:
//   {"iter":100,"block":"decoder","layer":3,"tpe":[[128,64,96,80]]}
//   {"iter":100,"block":"mtp","mtp_idx":0,"layer":0,"tpe":[[50,50,20,8]]}
// "tpe" has one list: how many tokens each of all experts had in the whole step, after capacity. Megatron's ranks write
// a file each, with a list of the rank's own experts for each micro-batch.
#pragma once
#include "base/append_file.h"
#include "observe/record.h"

namespace megalith {

class TokensPerExpert final : public Sink {
 public:
  // The file is `folder`/tokens_per_expert/rank0.jsonl; `iteration`: as of the metrics file. `every`: iterations.
  TokensPerExpert(const std::filesystem::path& folder, i64 iteration, i64 every, const ModelConfig& model);
  void take(const Record& record) override;

 private:
  AppendFile file_;
  i64 every_, layers_;         // layers: of the decoder
  std::vector<i64> mixtures_;  // layers with experts
};

}  // namespace megalith
