// Which ranks have symmetric memory on a GPU of given facts.
#pragma once
#include <vector>

#include "facts/device_facts.h"

namespace megalith::sim {

// Over PCIe NCCL moves all data. Facts without PCIe's rate may be of any link.
bool have_symmetric_memory(const std::vector<int>& ranks, const DeviceFacts& facts);

}  // namespace megalith::sim
