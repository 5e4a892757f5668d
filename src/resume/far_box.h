// A box of a tensor in another node's memory.
#pragma once
#include <functional>
#include <span>

#include "mesh/block_copy.h"

namespace megalith {

// Reads bytes of a slot, from byte `at` on.
using ReadSlot = std::function<void(i64 at, std::span<std::byte> out)>;

// Copies the elements that `box` and `to` have in common; returns how many they are. `at`: the box's first byte in the
// slot. `element`: the bytes of one. Reads only common elements, but joins runs of them if the gaps are short.
i64 copy_far(const ReadSlot& read, i64 at, const StridedBlock& box, const StridedBlock& to, std::byte* out,
             i64 element);

}  // namespace megalith
