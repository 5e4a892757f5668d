// How tensor-parallel ranks of Megatron-LM share a parameter: along one axis, or each has the whole. Of gated fc1 each
// has its gates, then its ups, while the whole has all gates, then all ups.
#pragma once
#include <string>
#include <vector>

#include "ckpt/tensors/tensor_store.h"

namespace megalith {

class RankParts {
 public:
  // `name`: canonical. `gated`: the model's fc1 is.
  RankParts(const std::string& name, i64 ranks, bool gated);

  bool is_cut() const { return axis_ >= 0; }
  // The shape of a parameter of which ranks hold parts of this shape, and the other way; Error, beginning with `what`,
  // if it can't be shared out so.
  Shape whole(const Shape& part, const std::string& what) const;
  Shape part(const Shape& whole, const std::string& what) const;
  // Where a box of a rank's part, of shape `part`, lies in the whole: one box, or two. `element`: bytes of one.
  void place(const StoredBox& box, i64 rank, const Shape& part, i64 element, std::vector<StoredBox>& out) const;

 private:
  i64 ranks_;
  int axis_;  // -1: every rank has the whole
  bool halves_;
};

}  // namespace megalith
