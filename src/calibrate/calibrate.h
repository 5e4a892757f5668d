// Measures a device's facts: kernels in steps of small models, and what libraries ask for.
#pragma once
#include "comm/ranks.h"
#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith {

struct CalibrateOptions {
  double seconds = 240;                 // no further model is begun after them
  std::string name;                     // of the file
  bool keep_kernels = false;            // those of `before` stay; one model says how much longer steps in a row take
  std::optional<DeviceFacts> before{};  // links, peaks and prices of it stay, and workspaces that were not asked for
};

// Says a line for each model. Takes the device for itself meanwhile.
// Several ranks measure at once, and transfers between them too; they are of one host.
DeviceFacts calibrate(const Backend& backend, Ranks& ranks, const CalibrateOptions& options);

// Kernels of mixtures of experts, timed now, where the facts have none.
void add_mixtures(DeviceFacts& facts, const Backend& backend, Ranks& ranks);

}  // namespace megalith
