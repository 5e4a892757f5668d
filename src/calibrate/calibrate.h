// Measures a device's facts: kernels in steps of small models, and workspaces of libraries.
#pragma once
#include "calibrate/timed_step.h"
#include "comm/ranks.h"
#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith {

struct CalibrateOptions {
  double seconds = 240;  // time limit: no model starts after it
  std::string name;      // name of the facts file
  // Keeps `before`, and measures with one model how much longer whole steps take than their kernels.
  bool keep_kernels = false;
  // Keeps `before` too, and measures these: two layers of the user's model, then one tensor-parallel rank's part of
  // them. The first measurement gives `together`.
  std::vector<TimedCase> model{};
  // Old facts: their links, peaks, prices, and workspaces that were not measured stay.
  std::optional<DeviceFacts> before{};
};

// Logs a line for each model. No other program may use the device. Several ranks, all on one host, measure at the same
// time, and also the transfers between them.
DeviceFacts calibrate(const Backend& backend, Ranks& ranks, const CalibrateOptions& options);

// Whether the device multiplies fp8 codes: a GPU of compute capability 9.0 or later.
bool has_products_of_codes(const Backend& backend);

// GB/s of the kernel that moves most bytes, of those that do little else. 1: there is none.
double rate_of_largest(const std::vector<KernelFact>& kernels);

// Adds kernels of mixtures of experts, if the facts have none.
void add_mixtures(DeviceFacts& facts, const Backend& backend, Ranks& ranks);

}  // namespace megalith
