// Chooses the kernel for attention: cuDNN, which is fast where it applies; or our general kernel. For the backward on
// Hopper there are also our kernels for its tensor cores. Where they apply they are faster than cuDNN's deterministic
// ones.
#pragma once
#include <string>

#include "base/dtype.h"

namespace megalith::cuda {

struct AttentionCase {
  DType dtype = DType::bf16;
  // queries, keys, head size. Queries: if a rank has several runs of positions, those of the shortest
  i64 s = 0, t = 0, d = 0;
  bool causal = true;
  i64 window = 0;
  bool alibi = false, dropout = false, documents = false, lengths = false;
  bool relative = false, cut = false;  // relative positions; the sequence's queries are on several ranks
  bool backward = false;
  // For a ring's block of keys, of which s queries see t keys: diagonal if they see it like a sequence's last queries,
  // whole if they see all of it, else ragged. Its gradients are f32.
  enum class Block { none, diagonal, whole, ragged } block = Block::none;
  int capability = 90;  // of the GPU
};

struct AttentionChoice {
  enum class Way { own, cudnn, hopper } way;
  std::string reason;  // of our own kernel: "because ..."; of the others: what they are used for
};
AttentionChoice choose_attention(const AttentionCase& c);

// The log line. `version`: cuDNN's version number (91900: 9.19.0).
std::string explain(const AttentionChoice& choice, i64 version);

}  // namespace megalith::cuda
