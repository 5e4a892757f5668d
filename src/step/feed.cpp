#include "step/feed.h"

namespace megalith {

Feed::Feed(const Plan& plan, Interpreter& interpreter, const Coord& coord, std::string suffix)
    : plan_(plan), interpreter_(interpreter), suffix_(std::move(suffix)) {
  sequences_ = local_type(plan.mesh, plan.leaf("rows" + suffix_).type).dim(0);
  for (const char* name : {"tokens", "labels", "position_ids", "document_starts"})
    if (const Leaf* leaf = plan.find_leaf(name + suffix_)) {
      seq_ = leaf->type.dim(0);
      positions_ = indices(plan.mesh, leaf->type.shape, leaf->type.layout, coord, 0);
    }
}

template <class To, class From>
void Feed::put(const char* name, const std::vector<From>& values, int slot) {
  const Leaf* leaf = plan_.find_leaf(name + suffix_);
  if (!leaf) return;  // this model has no use for it
  const i64 held = i64(positions_.size());
  staging_.resize(size_t(held * sequences_) * sizeof(To));
  To* to = reinterpret_cast<To*>(staging_.data());
  for (i64 b = 0; b < sequences_; ++b)
    for (i64 s = 0; s < held; ++s) to[s * sequences_ + b] = To(values[size_t(b * seq_ + positions_[size_t(s)])]);
  interpreter_.write(*leaf, to, slot);
}

void Feed::operator()(const Batch& batch, int slot) {
  check(batch.sequences == sequences_ && (seq_ == 0 || batch.seq_length == seq_),
        "a batch of {} x {} tokens for a plan of {} x {}", batch.sequences, batch.seq_length, sequences_, seq_);
  put<i32>("tokens", batch.tokens, slot);
  put<i32>("labels", batch.labels, slot);
  put<float>("loss_mask", batch.loss_mask, slot);
  put<i32>("position_ids", batch.position_ids, slot);
  if (!batch.document_starts.empty()) put<i32>("document_starts", batch.document_starts, slot);
  interpreter_.write(plan_.leaf("rows" + suffix_), batch.sample_numbers.data(), slot);
}

}  // namespace megalith
