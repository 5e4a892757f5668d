// Attention whose values are of another size than queries and keys (multi-head latent attention) as one of equal sizes:
// what is smaller is copied into the workspace, with zeros behind each row, and results are cut. Zeros behind q and k
// add nothing to scores; behind v and the gradient of o they make zeros, which are left out.
#pragma once
#include <optional>

#include "exec/cuda_needs/local_node.h"
#include "ops/attention_part.h"

namespace megalith::cuda {

struct PaddedTensor {
  int index;           // of the op's inputs, or results
  i64 rows, from;      // of a rank; elements of a row
  i64 element, place;  // bytes of an element; where it lies in the workspace
};

struct AttentionPadding {
  LocalNode node;  // of equal sizes
  i64 size;        // of a head
  std::vector<PaddedTensor> ins, outs;
  i64 bytes;  // of all; the kernel's own workspace lies behind
};

// Nothing where sizes are equal.
std::optional<AttentionPadding> padding_of(const Attention& op, const LocalNode& node);
std::optional<AttentionPadding> padding_of(const AttentionGrad& op, const LocalNode& node);
std::optional<AttentionPadding> padding_of(const AttentionPart& op, const LocalNode& node);
std::optional<AttentionPadding> padding_of(const AttentionPartGrad& op, const LocalNode& node);

}  // namespace megalith::cuda
