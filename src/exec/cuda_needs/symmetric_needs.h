// What collectives in symmetric memory need (exec/cuda/symmetric): members, and memory for page tables.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::cuda {

// Members of a group at most.
constexpr int kMostMembers = 8;
constexpr bool may_be_symmetric(size_t members) { return members >= 2 && members <= size_t(kMostMembers); }

// Whether each rank has a GPU of its own. places: of their GPUs, by rank; empty: the rank cannot tell. Ranks that share
// a GPU may share its queue of copies. There a copy that waits for another rank would stop that rank's copies.
bool have_own_gpus(std::vector<std::string> places);

// Bytes of page tables for another GPU's memory: 8 for each 4 KiB, as measured on H200s with driver 580.
constexpr i64 mapping_bytes(i64 memory) { return (memory + 4095) / 4096 * 8; }

}  // namespace megalith::cuda
