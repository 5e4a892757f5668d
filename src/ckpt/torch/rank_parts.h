// How Megatron-LM's tensor-parallel ranks split a parameter: along one axis, or not at all. A rank's part of gated fc1
// has its gates, then its ups; the full tensor has all gates, then all ups.
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
  // The shape of the full parameter from that of a rank's part, and the reverse. Error, starting with `what`, if it
  // can't be split so.
  Shape whole(const Shape& part, const std::string& what) const;
  Shape part(const Shape& whole, const std::string& what) const;
  // The position in the full tensor of a box of a rank's part of shape `part`: one box, or two. `element`: its size in
  // bytes.
  void place(const StoredBox& box, i64 rank, const Shape& part, i64 element, std::vector<StoredBox>& out) const;

 private:
  i64 ranks_;
  int axis_;  // -1: every rank has the whole
  bool halves_;
};

}  // namespace megalith
