// A map from byte strings to numbers. It finds all strings that a text begins with, one step per byte.
#pragma once
#include <array>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class ByteTrie {
 public:
  static constexpr i32 kNone = -1;
  static constexpr u32 kDead = 0;  // no string has this prefix

  ByteTrie() = default;
  // Of equal strings the later value counts. Empty strings are ignored.
  void insert(std::string_view text, i32 value);

  static constexpr u32 root() { return 1; }
  u32 step(u32 node, u8 byte) const {
    if (node == 1) return first_[byte];
    const u64 key = u64(node) << 8 | byte;
    for (u64 at = hash(key) & mask_;; at = (at + 1) & mask_) {
      const Edge& edge = edges_[at];
      if (edge.key == key) return edge.to;
      if (edge.key == 0) return kDead;
    }
  }
  i32 value(u32 node) const { return values_[node]; }
  bool begins_with(u8 byte) const { return first_[byte] != kDead; }  // whether any string does
  bool empty() const { return nodes_ == 2; }

 private:
  struct Edge {
    u64 key = 0;  // 0: none; node numbers begin at 1
    u32 to = 0;
  };
  static u64 hash(u64 key) { return (key * 0x9E3779B97F4A7C15ull) >> 20; }
  void place(u64 key, u32 to);
  void grow();

  std::array<u32, 256> first_{};
  std::vector<Edge> edges_ = std::vector<Edge>(16);
  std::vector<i32> values_ = {kNone, kNone};
  u64 mask_ = 15;
  u32 nodes_ = 2;
  size_t count_ = 0;
};

}  // namespace megalith
