// Which way attention goes: by cuDNN, fast where it applies; by a kernel of our own, which does everything; or,
// backward on Hopper, by kernels of our own for its tensor cores, faster than cuDNN's deterministic ones where they
// apply.
#pragma once
#include <string>

#include "base/dtype.h"

namespace megalith::cuda {

struct AttentionCase {
  DType dtype = DType::bf16;
  i64 s = 0, t = 0, d = 0;  // queries (of a rank with several runs of positions: in the shortest), keys, head size
  bool causal = true;
  i64 window = 0;
  bool alibi = false, dropout = false, documents = false, lengths = false;
  bool relative = false, cut = false;  // relative positions; the sequence's queries are on several ranks
  bool backward = false;
  // For a ring's block of keys: whether the queries that see any of it (s of them, t keys) see it like a sequence's
  // last queries, or all of it. ragged: neither. Its gradients are f32.
  enum class Block { none, diagonal, whole, ragged } block = Block::none;
  int capability = 90;  // of the GPU
};

struct AttentionChoice {
  enum class Way { own, cudnn, hopper } way;
  std::string reason;  // of our own kernel: "because ..."; of the others: what they are used for
};
AttentionChoice choose_attention(const AttentionCase& c);

// The line of the log. `version`: cuDNN's version number (91900: 9.19.0).
std::string explain(const AttentionChoice& choice, i64 version);

}  // namespace megalith::cuda
