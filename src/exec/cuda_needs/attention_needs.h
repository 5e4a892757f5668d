// How much workspace attention's kernels need at a place of the mesh, by the positions that its rank holds; and how
// much is enough at every place: memory is planned once, and alike for all ranks. cuDNN is not asked, which would take
// a GPU and seconds for all that the places have: where positions are split, its plans get what is set aside for them,
// or are not used.
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

// A ring's block: the same case, of what is seen; the kernel for Hopper's sizes, for which the sequence is as many keys
// as there are: the queries lie at its end or, where they see all keys, behind it.
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
