// One rank's block of a value: which global elements it holds, in local order. All of the harness's data movement is
// this index arithmetic.
#pragma once
#include <vector>

#include "graph/type.h"

namespace megalith::harness {

// The row-major index of an element.
inline i64 flat(const Shape& shape, const std::vector<i64>& at) {
  i64 out = 0;
  for (size_t d = 0; d < shape.size(); ++d) out = out * shape[d] + at[d];
  return out;
}

class Block {
 public:
  Block(const Mesh& mesh, const Type& type, int rank) {
    for (int d = 0; d < type.ndim(); ++d) {
      held_.push_back(indices(mesh, type.shape, type.layout, mesh.coord(rank), d));
      std::vector<i64> place(size_t(type.shape[d]), -1);
      for (size_t i = 0; i < held_[d].size(); ++i) place[held_[d][i]] = i64(i);
      place_.push_back(std::move(place));
    }
  }

  // Calls f(global index tuple) for each element, in local order.
  template <class F>
  void each(F&& f) const {
    std::vector<size_t> at(held_.size());
    std::vector<i64> global(held_.size());
    for (const auto& h : held_)
      if (h.empty()) return;
    for (;;) {
      for (size_t d = 0; d < held_.size(); ++d) global[d] = held_[d][at[d]];
      f(global);
      int d = int(held_.size()) - 1;
      while (d >= 0 && ++at[d] == held_[d].size()) at[d--] = 0;
      if (d < 0) return;
    }
  }

  // The local index of a global element; -1 if the block does not have it.
  i64 find(const std::vector<i64>& global) const {
    i64 out = 0;
    for (size_t d = 0; d < held_.size(); ++d) {
      const i64 i = place_[d][global[d]];
      if (i < 0) return -1;
      out = out * i64(held_[d].size()) + i;
    }
    return out;
  }

 private:
  std::vector<std::vector<i64>> held_, place_;  // by dim: global from local, local from global
};

}  // namespace megalith::harness
