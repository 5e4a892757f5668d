// Attention with different sizes of values and keys (multi-head latent attention), as attention with equal sizes. The
// smaller operands are copied into the workspace, with zeros at the end of each row, and results are cut. Zeros in q
// and k add nothing to scores. Zeros in v and in the gradient of o give zeros, which are cut off.
#pragma once
#include <optional>

#include "exec/cuda_needs/local_node.h"
#include "ops/attention_part.h"

namespace megalith::cuda {

struct PaddedTensor {
  int index;           // among the op's inputs, or results
  i64 rows, from;      // rows on a rank; elements of a row
  i64 element, place;  // bytes of an element; offset in the workspace
};

struct AttentionPadding {
  LocalNode node;  // with equal sizes
  i64 size;        // of a head
  std::vector<PaddedTensor> ins, outs;
  i64 bytes;  // of all copies; the kernel's own workspace follows
};

// Nothing if sizes are equal.
std::optional<AttentionPadding> padding_of(const Attention& op, const LocalNode& node);
std::optional<AttentionPadding> padding_of(const AttentionGrad& op, const LocalNode& node);
std::optional<AttentionPadding> padding_of(const AttentionPart& op, const LocalNode& node);
std::optional<AttentionPadding> padding_of(const AttentionPartGrad& op, const LocalNode& node);

}  // namespace megalith::cuda
