// The file of --save-tokens-per-expert-interval: one JSON object per line, one line for each layer with experts, with
// Megatron's keys:
//   {"iter":100,"block":"decoder","layer":3,"tpe":[[128,64,96,80]]}
//   {"iter":100,"block":"mtp","mtp_idx":0,"layer":0,"tpe":[[50,50,20,8]]}\n"tpe" has one list: the number of tokens of
//   each expert in the whole step, after capacity. Megatron's ranks write one file each, with a list of the rank's own
//   experts for each micro-batch.
#pragma once
#include "base/append_file.h"
#include "observe/record.h"

namespace megalith {

class TokensPerExpert final : public Sink {
 public:
  // The file is `folder`/tokens_per_expert/rank0.jsonl. `iteration`: as for the metrics file. `every`: in iterations.
  TokensPerExpert(const std::filesystem::path& folder, i64 iteration, i64 every, const ModelConfig& model);
  void take(const Record& record) override;

 private:
  AppendFile file_;
  i64 every_, layers_;         // number of decoder layers
  std::vector<i64> mixtures_;  // layers with experts
};

}  // namespace megalith
