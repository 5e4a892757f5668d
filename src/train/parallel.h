// How a run's ranks share the work: sizes of the mesh's axes and what the flags choose about them.
#pragma once
#include <algorithm>
#include <string>

#include "base/dtype.h"
#include "mesh/mesh.h"
#include "models/config.h"
#include "models/gpt_layouts.h"

namespace megalith {

// What attention does where the sequence is split: keys and values are gathered, or heads are exchanged for sequence.
enum class CpCommType { all_gather, a2a };

struct ParallelConfig {
  i64 world_size = 1;  // ranks in all: the launcher's, or the flag's for --dry-run
  i64 tensor_model_parallel_size = 1;
  i64 pipeline_model_parallel_size = 1;
  i64 context_parallel_size = 1;
  i64 expert_model_parallel_size = 1;
  i64 expert_tensor_parallel_size = 1;
  bool sequence_parallel = false;
  CpCommType cp_comm_type = CpCommType::all_gather;
  double distributed_timeout_minutes = 10;

  i64 model_parallel_size() const {
    return tensor_model_parallel_size * pipeline_model_parallel_size * context_parallel_size;
  }
  i64 data_parallel_size() const { return std::max<i64>(1, world_size / std::max<i64>(1, model_parallel_size())); }
  bool operator==(const ParallelConfig&) const = default;
};

// tk = gcd(tp, KV groups), tr = tp / tk.
Mesh mesh_of(const ParallelConfig& p, const ModelConfig& model);
ParallelStyle style_of(const ParallelConfig& p);

// Which ranks form which groups, one line an axis: "tensor-parallel groups: [0 1] [2 3]"; long lists are cut. Empty for
// one rank.
std::string rank_map(const Mesh& mesh);

}  // namespace megalith
