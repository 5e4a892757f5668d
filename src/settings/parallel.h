// How a run's ranks share the work: sizes of the mesh's axes, and the flags' choices about them.
#pragma once
#include <algorithm>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "mesh/mesh.h"
#include "models/config.h"
#include "models/parallel_style.h"
#include "step/stages.h"

namespace megalith {

// Attention with a split sequence: all-gather keys and values, exchange heads for sequence (all-to-all), or pass keys
// and values around the ranks (a ring).
enum class CpCommType { all_gather, a2a, p2p };

// zero_bubble: weight gradients are separate tasks, which fill the pipeline's end.
enum class PipelineSchedule { one_f_one_b, zero_bubble };

// flags: as the flags say. automatic: the planner chooses the missing ones.
enum class LayoutChoice { flags, automatic };

struct ParallelConfig {
  i64 world_size = 1;  // ranks in all: the launcher's, or the flag's for --dry-run
  i64 tensor_model_parallel_size = 1;
  i64 pipeline_model_parallel_size = 1;
  i64 encoder_pipeline_model_parallel_size = 0;  // preceding stages of the encoder; 0: it has none
  i64 context_parallel_size = 1;
  i64 expert_model_parallel_size = 1;   // ranks that share a layer's experts
  i64 expert_tensor_parallel_size = 0;  // ranks that share an expert's matrices; 0: the tensor-parallel ones
  std::optional<double> moe_expert_rank_capacity_factor{};  // room for experts' rows; none: for the worst case
  bool sequence_parallel = false;
  CpCommType cp_comm_type = CpCommType::all_gather;
  PipelineSchedule pipeline_schedule = PipelineSchedule::one_f_one_b;
  std::string pipeline_layout{};                  // all stages as text, or auto; empty: the numbers below are used
  i64 num_layers_per_virtual_pipeline_stage = 0;  // at most one of the two; 0: a rank has one piece of the model
  i64 num_virtual_stages_per_pipeline_rank = 0;
  i64 microbatch_group_size_per_vp_stage = 0;  // 0: the pipeline's size
  i64 decoder_first_pipeline_num_layers = 0;   // of the first rank; 0: as the others
  i64 decoder_last_pipeline_num_layers = 0;
  bool account_for_embedding_in_pipeline_split = false;  // as a layer
  bool account_for_loss_in_pipeline_split = false;
  bool use_distributed_optimizer = false;  // optimizer state cut over the data-parallel ranks
  bool tp_comm_overlap = false;            // transfers overlap with products
  bool moe_shared_expert_overlap = false;  // dispatch and combine overlap with the shared expert
  bool overlap_grad_reduce = false;        // with the backward
  bool overlap_param_gather = false;       // with the next forward
  bool grad_reduce_in_bf16 = false;        // over the ranks; each rank's own sums: main_grads_dtype
  i64 ddp_bucket_size = 0;                 // elements of a bucket; 0: Megatron's default
  double distributed_timeout_minutes = 10;
  LayoutChoice layout = LayoutChoice::flags;

  i64 stages() const { return pipeline_model_parallel_size + encoder_pipeline_model_parallel_size; }
  i64 model_parallel_size() const { return tensor_model_parallel_size * stages() * context_parallel_size; }
  i64 expert_tensor_size() const {
    return expert_tensor_parallel_size ? expert_tensor_parallel_size : tensor_model_parallel_size;
  }
  i64 data_parallel_size() const { return std::max<i64>(1, world_size / std::max<i64>(1, model_parallel_size())); }
  bool operator==(const ParallelConfig&) const = default;
};

// The blocks of each virtual stage and the schedule, for the ranks of `stage`. Error where they can't be shared out.
PipelineSpec pipeline_of(const ParallelConfig& p, const ModelConfig& model, int stage, int micro_batches);

// Layers of each virtual stage as --pipeline-model-parallel-layout auto shares them out.
std::vector<i64> balanced_layers(const ParallelConfig& p, const ModelConfig& model);

// tp_kv = gcd(tp, KV groups), tp_rep = tp / tp_kv.
Mesh mesh_of(const ParallelConfig& p, const ModelConfig& model);
ParallelStyle style_of(const ParallelConfig& p);

// Which ranks form which groups, one line an axis: "tensor-parallel groups: [0 1] [2 3]"; long lists are cut. Empty for
// one rank.
std::string rank_map(const Mesh& mesh);

}  // namespace megalith
