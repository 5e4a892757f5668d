// The optimizer's state as Megatron-LM saves it by default in torch_dist (dp_reshardable): flat buckets of each
// model-parallel rank, optimizer.distributed.dp_group_idx_M.gbuf_idx_B.dtype_(..).bucket_idx_K.{param,exp_avg,..}. The
// files have the buckets' sizes; with a given order the parameters fit into them in only one way. Of the orders that
// Megatron's layers use, the right one is that in which the main values match the weights.
#pragma once
#include <memory>

#include "ckpt/tensors/tensor_store.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/pickle.h"

namespace megalith {

// The object with the optimizer's own settings, of the first model-parallel rank.
inline constexpr const char* kBucketedOptimizer = "optimizer.distributed.dp_group_idx_0.optimizer/shard_0_1";

bool has_bucketed_state(const TensorReader& files);

// Under optimizer.state.KIND.NAME, where NAME is a weight's of the files. UnplacedState if it does not fit exactly.
std::shared_ptr<const TensorReader> read_bucketed_state(const TensorStore& files, const PickleValue& args,
                                                        const ModelConfig& model, MegatronLayers layers);

}  // namespace megalith
