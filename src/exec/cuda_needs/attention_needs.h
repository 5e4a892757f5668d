// The workspace of attention's kernels on one rank of the mesh, by the positions that it holds, and the maximum over
// ranks: memory is planned once, alike for all ranks. cuDNN is not asked, because that needs a GPU, and seconds for
// all ranks. If positions are split, its plans get the reserved workspace, or are not used.
#pragma once
#include "exec/cuda_needs/attention_block.h"
#include "exec/cuda_needs/attention_choice.h"
#include "exec/cuda_needs/attention_sizes.h"
#include "graph/type.h"

namespace megalith::cuda {

// Measured with cuDNN 9.19 on an H200: 256 bytes, of 512 to 16384 queries.
constexpr i64 kForwardPlanBytes = i64{16} << 20;

struct AttentionPlace {
  Indices queries, keys;  // their positions
};
// Those on the axes that split the positions of queries like `o` and keys like `k`: all that differ in what they hold.
std::vector<AttentionPlace> places_of(const Mesh& mesh, const Type& o, const Type& k);

// Of the queries' runs at all places.
i64 shortest_run(const std::vector<AttentionPlace>& places);

// A ring's block as a case of its visible keys. For the kernel for Hopper the sequence has as many keys as there are:
// the queries are at its end or, if they see all keys, after it.
AttentionCase case_of_block(AttentionCase whole, const std::optional<SeenBlock>& seen);
AttentionSizes hopper_sizes(AttentionSizes z, const SeenBlock& seen);

// The same where all queries see all keys of their sequence.
AttentionSizes hopper_sizes(AttentionSizes z);

// cuDNN's results of a ring's block, then its plan's own bytes.
struct PartWorkspace {
  i64 o, lse;
  i64 bytes() const { return o + lse + kForwardPlanBytes; }
};
PartWorkspace part_workspace(const AttentionSizes& z, const SeenBlock& seen);

// Of AttentionPart or, with c.backward, its gradient. `c`, `z`: of the op at any place.
i64 part_need(const AttentionCase& c, AttentionSizes z, const AttentionPlace& here);
i64 part_need(const AttentionCase& c, const AttentionSizes& z, const std::vector<AttentionPlace>& places);

// Of the gradient over all keys by kernels of our own.
i64 grad_need(AttentionChoice::Way way, AttentionSizes z, const std::vector<AttentionPlace>& places);

}  // namespace megalith::cuda
