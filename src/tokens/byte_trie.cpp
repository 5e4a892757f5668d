#include "tokens/byte_trie.h"

namespace megalith {

void ByteTrie::insert(std::string_view text, i32 value) {
  if (text.empty()) return;
  u32 node = root();
  for (char c : text) {
    u32 next = step(node, u8(c));
    if (next == kDead) {
      next = nodes_++;
      values_.push_back(kNone);
      if (node == root()) {
        first_[u8(c)] = next;
      } else {
        place(u64(node) << 8 | u8(c), next);
      }
    }
    node = next;
  }
  values_[node] = value;
}

void ByteTrie::place(u64 key, u32 to) {
  if (++count_ * 2 > edges_.size()) grow();
  u64 at = hash(key) & mask_;
  while (edges_[at].key != 0) at = (at + 1) & mask_;
  edges_[at] = {key, to};
}

void ByteTrie::grow() {
  const std::vector<Edge> old = std::move(edges_);
  edges_.assign(old.size() * 2, {});
  mask_ = edges_.size() - 1;
  for (const Edge& edge : old) {
    if (edge.key == 0) continue;
    u64 at = hash(edge.key) & mask_;
    while (edges_[at].key != 0) at = (at + 1) & mask_;
    edges_[at] = edge;
  }
}

}  // namespace megalith
