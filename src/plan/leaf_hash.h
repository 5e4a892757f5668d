// Exact hashes of leaves: a sum over a leaf's elements of mix(its global indices, its bits). Ranks that hold the same
// block have the same hash. The hashes of a tensor's blocks add up to the same under every layout.
#pragma once
#include <span>
#include <vector>

#include "plan/interpreter.h"

namespace megalith {

// An interpreter whose device computes the hashes, so that leaves are not copied to the host.
class HashesLeaves {
 public:
  virtual ~HashesLeaves() = default;
  // Hashes of the leaves after all queued work. Waits for it.
  virtual std::vector<u64> hash(std::span<const Leaf* const> leaves) = 0;
};

// The hash of the block that the rank at `coord` holds, computed by the host.
u64 hash_block(const Type& type, const Mesh& mesh, const Coord& coord, const std::byte* block);

// Hashes of leaves of the plan that the interpreter runs for this rank.
std::vector<u64> hash_leaves(Interpreter& interpreter, const Mesh& mesh, const Coord& coord,
                             std::span<const Leaf* const> leaves);

}  // namespace megalith
