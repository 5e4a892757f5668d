// Facts of a GPU and its libraries, for a file of facts.
#pragma once
#include "exec/cuda/device.h"
#include "facts/device_facts.h"

namespace megalith::cuda {

// Sizes, versions, and the workspaces of products and attention that were asked for so far.
void tell(Device& device, DeviceFacts& facts);

}  // namespace megalith::cuda
