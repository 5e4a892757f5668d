// Facts of a GPU and its libraries, for a facts file.
#pragma once
#include "exec/cuda/device.h"
#include "facts/device_facts.h"

namespace megalith::cuda {

// Adds sizes, versions, and the workspaces of the products and attentions that were requested so far.
void tell(Device& device, DeviceFacts& facts);

}  // namespace megalith::cuda
