// Measures a device's facts: kernels in steps of small models, and what libraries ask for.
#pragma once
#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith {

struct CalibrateOptions {
  double seconds = 240;                 // no further model is begun after them
  std::string name;                     // of the file
  std::optional<DeviceFacts> before{};  // links, peaks and prices of it stay, and workspaces that were not asked for
};

// Says a line for each model. Takes the device for itself meanwhile.
DeviceFacts calibrate(const Backend& backend, const CalibrateOptions& options);

}  // namespace megalith
