// The workspace of attention's kernels on one rank of the mesh, by its positions. Also the maximum over ranks. All
// ranks share one plan of memory. cuDNN is not asked, because that needs a GPU, and seconds for all ranks. If positions
// are split, cuDNN's plans must fit in the reserved workspace; otherwise they are not used.
#pragma once
#include "exec/cuda_needs/attention_block.h"
#include "exec/cuda_needs/attention_choice.h"
#include "exec/cuda_needs/attention_sizes.h"
#include "graph/type.h"

namespace megalith::cuda {

// Measured with cuDNN 9.19 on an H200: 256 bytes, for 512 to 16384 queries.
constexpr i64 kForwardPlanBytes = i64{16} << 20;

struct AttentionPlace {
  Indices queries, keys;  // positions
};
// One place for each distinct set of positions, over the axes that split `o`'s queries and `k`'s keys.
std::vector<AttentionPlace> places_of(const Mesh& mesh, const Type& o, const Type& k);

// The length of the shortest run of queries at any place.
i64 shortest_run(const std::vector<AttentionPlace>& places);

// A ring's block as a case with its visible keys. For the kernel for Hopper the sequence has exactly these keys. The
// queries are at its end, or after it if they see all keys.
AttentionCase case_of_block(AttentionCase whole, const std::optional<SeenBlock>& seen);
AttentionSizes hopper_sizes(AttentionSizes z, const SeenBlock& seen);

// The same if all queries see all keys of their sequence.
AttentionSizes hopper_sizes(AttentionSizes z);

// cuDNN's results for a ring's block, then the workspace of its plan.
struct PartWorkspace {
  i64 o, lse;
  i64 bytes() const { return o + lse + kForwardPlanBytes; }
};
PartWorkspace part_workspace(const AttentionSizes& z, const SeenBlock& seen);

// Workspace of AttentionPart or, with c.backward, its gradient. `c`, `z`: those of the op at any place.
i64 part_need(const AttentionCase& c, AttentionSizes z, const AttentionPlace& here);
i64 part_need(const AttentionCase& c, const AttentionSizes& z, const std::vector<AttentionPlace>& places);

// Workspace of the gradient over all keys, by our own kernels.
i64 grad_need(AttentionChoice::Way way, AttentionSizes z, const std::vector<AttentionPlace>& places);

}  // namespace megalith::cuda
