// Whether GPUs of this host are linked by NVLink.
#pragma once
#include <string>

namespace megalith::cuda {

// Between this process's current GPU and the one at this place on the bus, as Device::bus_place() has it. Asks CUDA.
// Asks the driver's management library (NVML) about a GPU that CUDA_VISIBLE_DEVICES hides. False if neither knows.
bool has_nvlink(const std::string& mine, const std::string& other);

}  // namespace megalith::cuda
