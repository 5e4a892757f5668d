// Experts in Megatron-LM's `torch` checkpoints: of a layer's E experts each of ep expert-parallel ranks has E / ep, in
// one of three forms.
//
//   mlp.experts.local_experts.I.linear_fc1.weight [n, h]   SequentialMLP
//   mlp.experts.linear_fc1.weightI [n, h]                  transformer-engine's grouped product
//   mlp.experts.weight1 [h, E/ep n], weight2 [E/ep f, h]   GroupedMLP, which newer versions lack: their numbers are
//                                                          [E/ep, h, n] and [E/ep, f, h], one expert behind another
#pragma once
#include <string>
#include <vector>

#include "ckpt/torch/torch_file.h"

namespace megalith {

struct NamedTorchTensor {
  std::string name;
  TorchTensor tensor;
};

class LegacyExperts {
 public:
  LegacyExperts() = default;  // of a model without
  // `args`: Megatron's; `expert_ranks`: whose files there are. Error if they can't share the experts out.
  LegacyExperts(const PickleValue& args, i64 tensor_ranks, i64 expert_ranks);

  // A rank's tensor as those of single experts, local_experts.I.REST with I counted over all ranks; any other tensor
  // itself. Error, beginning with `where`, for an expert that the rank can't have.
  std::vector<NamedTorchTensor> split(const std::string& name, const TorchTensor& t, i64 expert_rank,
                                      const std::string& where) const;

 private:
  i64 local_ = 0;  // experts of a rank
};

bool is_of_expert(const std::string& name);  // of single experts' names

}  // namespace megalith
