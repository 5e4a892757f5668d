#include "train/feed.h"

namespace megalith {

Feed::Feed(const Plan& plan, Interpreter& interpreter, const Coord& coord) : plan_(plan), interpreter_(interpreter) {
  const Type& tokens = plan.leaf("tokens").type;
  seq_ = tokens.dim(0), sequences_ = local_type(plan.mesh, tokens).dim(1);
  positions_ = indices(plan.mesh, tokens.shape, tokens.layout, coord, 0);
}

template <class To, class From>
void Feed::put(const char* name, const std::vector<From>& values) {
  const Leaf* leaf = plan_.find_leaf(name);
  if (!leaf) return;  // this model has no use for it
  const i64 held = i64(positions_.size());
  staging_.resize(size_t(held * sequences_) * sizeof(To));
  To* to = reinterpret_cast<To*>(staging_.data());
  for (i64 b = 0; b < sequences_; ++b)
    for (i64 s = 0; s < held; ++s) to[s * sequences_ + b] = To(values[size_t(b * seq_ + positions_[size_t(s)])]);
  interpreter_.write(*leaf, to);
}

void Feed::operator()(const Batch& batch) {
  check(batch.sequences == sequences_ && batch.seq_length == seq_, "a batch of {} x {} tokens for a plan of {} x {}",
        batch.sequences, batch.seq_length, sequences_, seq_);
  put<i32>("tokens", batch.tokens);
  put<i32>("labels", batch.labels);
  put<float>("loss_mask", batch.loss_mask);
  put<i32>("position_ids", batch.position_ids);
  if (!batch.document_starts.empty()) put<i32>("document_starts", batch.document_starts);
  interpreter_.write(plan_.leaf("rows"), batch.sample_numbers.data());
}

}  // namespace megalith
