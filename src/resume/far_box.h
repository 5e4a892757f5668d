// A box of a tensor in another node's memory.
#pragma once
#include <functional>
#include <span>

#include "mesh/block_copy.h"

namespace megalith {

// Reads bytes of a slot. `at`: the first byte.
using ReadSlot = std::function<void(i64 at, std::span<std::byte> out)>;

// Copies the elements that `box` and `to` have in common. Returns their number. `at`: the box's first byte in the slot.
// `element`: bytes of an element. Reads only the common elements, and short gaps between them.
i64 copy_far(const ReadSlot& read, i64 at, const StridedBlock& box, const StridedBlock& to, std::byte* out,
             i64 element);

}  // namespace megalith
