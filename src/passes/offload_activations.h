// Offload of activations to host memory between forward and backward (--fine-grained-activation-offloading). Each
// chosen value of a layer is stored where it is computed, and fetched before the backward reads it. Each direction has
// one lane. Results are bit-identical. Pipelines keep one host slot for each micro-batch in flight.
#pragma once
#include <map>

#include "passes/bus_clock.h"
#include "passes/pass.h"

namespace megalith {

struct OffloadConfig {
  bool on = false;
  // The modules whose values are offloaded (kept_values.h). None: each value whose transfer delays the device for less
  // time than its recomputation would take. The highest recomputation time per byte comes first.
  std::vector<std::string> modules;
  i64 min_tensor_size = i64{1} << 20;  // elements of a rank
  double fraction = 1;                 // of these values' bytes, from the first layer on
  bool operator==(const OffloadConfig&) const = default;
};

struct OffloadSpec {
  OffloadConfig config;
  std::string suffix = {};  // of the leaves' names, where a step has several graphs
  bool apart = false;       // forward and backward are separate programs
  BusRates rates = {};
};

// Of one micro-batch.
struct OffloadReport {
  std::map<std::string, i64> bytes;  // by module
  double on_bus = 0;                 // seconds, each way
  double forward = 0;                // the time that hides stores
  double wait = 0;                   // of the device, in both directions
  double made_again = 0;             // a lower bound of the recomputation time of the same values
  OffloadReport& operator+=(const OffloadReport& o);
};

// After all passes that move nodes of the forward or the backward, recomputation included.
OffloadReport offload_activations(Graph& g, const OffloadSpec& spec);

}  // namespace megalith
