// Leaves, besides gradients, that a forward and backward change. They are restored, or the next step would read them.
#pragma once
#include <vector>

#include "plan/interpreter.h"

namespace megalith {

class KeptLeaves {
 public:
  KeptLeaves(const Plan& plan, Interpreter& interpreter) : interpreter_(interpreter) {
    for (const Leaf& leaf : plan.leaves) {
      if (leaf.role != Role::cache && leaf.role != Role::scalar) continue;
      Kept& kept = all_.emplace_back(Kept{&leaf, std::vector<std::byte>(size_t(leaf.bytes))});
      interpreter.read(leaf, kept.bytes.data());
    }
  }
  void put_back() const {
    for (const Kept& kept : all_) interpreter_.write(*kept.leaf, kept.bytes.data());
  }

 private:
  struct Kept {
    const Leaf* leaf;
    std::vector<std::byte> bytes;
  };
  Interpreter& interpreter_;
  std::vector<Kept> all_;
};

}  // namespace megalith
