#include "tests/harness/move.h"

#include <algorithm>

#include "tests/harness/block.h"

namespace megalith::harness {

namespace {

// One group of ranks: the blocks of its members, and the rule for a rank's new element.
class Group {
 public:
  Group(const Mesh& mesh, const Relayout& op, const Type& from, const std::vector<int>& ranks, const Blocks& xs)
      : op_(op), ranks_(ranks), xs_(xs) {
    for (int r : ranks) blocks_.emplace_back(mesh, from, r);
  }

  // The element at `global` for member k.
  double value(const std::vector<i64>& global, size_t k) const {
    if (op_.from == kPartial || op_.from == kMax) return combined(global);
    if (op_.from.is_split() && op_.to != kPartial) return only_holder(global);
    if (op_.from.is_split()) return blocks_[k].find(global) < 0 ? 0 : held(global, k);
    return op_.to == kPartial && k > 0 ? 0 : held(global, k);
  }

 private:
  double held(const std::vector<i64>& global, size_t k) const {
    const i64 at = blocks_[k].find(global);
    check(at >= 0, "move: a rank lacks an element that its type says it holds");
    return xs_[ranks_[k]][at];
  }
  double combined(const std::vector<i64>& global) const {  // in rank order
    double out = held(global, 0);
    for (size_t k = 1; k < ranks_.size(); ++k)
      out = op_.from == kMax ? std::max(out, held(global, k)) : out + held(global, k);
    return out;
  }
  double only_holder(const std::vector<i64>& global) const {
    int holders = 0;
    double out = 0;
    for (size_t k = 0; k < ranks_.size(); ++k)
      if (blocks_[k].find(global) >= 0) out = held(global, k), ++holders;
    check(holders == 1, "move: {} ranks hold an element of a split value", holders);
    return out;
  }

  const Relayout& op_;
  const std::vector<int>& ranks_;
  const Blocks& xs_;
  std::vector<Block> blocks_;
};

}  // namespace

Blocks move(const Mesh& mesh, const Relayout& op, const Type& from, const Type& to, const Blocks& xs) {
  Blocks out(xs.size());
  for (const std::vector<int>& ranks : mesh.groups(op.axes)) {
    const Group group(mesh, op, from, ranks, xs);
    for (size_t k = 0; k < ranks.size(); ++k)
      Block(mesh, to, ranks[k]).each([&](const std::vector<i64>& at) { out[ranks[k]].push_back(group.value(at, k)); });
  }
  return out;
}

}  // namespace megalith::harness
