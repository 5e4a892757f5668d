// The faults of a run that strike this rank.
#pragma once
#include <memory>
#include <vector>

#include "inject/planted.h"

namespace megalith {

// Error if a fault is misspelt, not allowed, of an unknown kind or rank, or not supported on this device.
// `looks_in`: the device lets others look into its runs.
void check_faults(const std::vector<std::string>& texts, bool allowed, int ranks, bool looks_in);

// Faults of this rank in a phase of its start strike now. phase: "init", before the step is planned, or "load".
void strike_in_phase(const std::vector<std::string>& texts, int rank, std::string_view phase);

class Faults {
 public:
  // Error if one names what this rank's plan does not have.
  Faults(const std::vector<std::string>& texts, int rank, const FaultSite& site);
  void step_begins(i64 iteration) const;
  // Before each step of a save, on any thread. Returns the error number with which the step must fail, or 0.
  int save_step(std::string_view kind) const;
  // Faults that act inside runs; the device must know them.
  std::vector<RunWatch*> watches() const;

 private:
  std::vector<std::unique_ptr<PlantedFault>> planted_, looking_;
};

}  // namespace megalith
