// A box of a tensor in another node's memory.
#pragma once
#include "comm/slot_client.h"
#include "mesh/block_copy.h"

namespace megalith {

// Copies the elements that `box` and `to` have in common; returns how many they are. `at`: the box's first byte in the
// slot. `element`: the bytes of one. Whole rows are transferred.
i64 copy_far(const FarSlot& slot, i64 at, const StridedBlock& box, const StridedBlock& to, std::byte* out, i64 element);

}  // namespace megalith
