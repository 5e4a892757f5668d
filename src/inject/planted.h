// A planted fault, and the table of the kinds. A new kind is a function that makes one, and its row in kinds.cpp.
#pragma once
#include <memory>
#include <string_view>

#include "comm/ranks.h"
#include "inject/fault.h"
#include "plan/interpreter.h"
#include "plan/run_watch.h"

namespace megalith {

class PlantedFault : public RunWatch {
 public:
  virtual void step_begins(i64 /*iteration*/) {}
  // Before each step of a save, on any thread. Returns the error number with which the step must fail, or 0.
  virtual int save_step(std::string_view /*kind*/) { return 0; }
};

// Where this rank's faults are planted.
struct FaultSite {
  const Plan& plan;
  const Coord& coord;
  Interpreter& interpreter;
  Ranks& ranks;
};

struct FaultKind {
  std::string_view name;
  std::string_view usage;  // of its arguments
  bool looks_in;           // it is made by looking into runs, which not every device lets it
  std::string_view plain;  // its first arguments, between spaces, with which it is made between runs
  std::unique_ptr<PlantedFault> (*make)(const Fault& fault, const FaultSite& site);
};

const FaultKind& fault_kind(const Fault& fault);  // Error if there is none

std::unique_ptr<PlantedFault> make_process_fault(const Fault& fault, const FaultSite& site);
std::unique_ptr<PlantedFault> make_nan_fault(const Fault& fault, const FaultSite& site);
std::unique_ptr<PlantedFault> make_flip_fault(const Fault& fault, const FaultSite& site);
std::unique_ptr<PlantedFault> make_oom_fault(const Fault& fault, const FaultSite& site);
std::unique_ptr<PlantedFault> make_drop_fault(const Fault& fault, const FaultSite& site);
std::unique_ptr<PlantedFault> make_disk_fault(const Fault& fault, const FaultSite& site);
std::unique_ptr<PlantedFault> make_agent_fault(const Fault& fault, const FaultSite& site);
std::unique_ptr<PlantedFault> make_wire_fault(const Fault& fault, const FaultSite& site);
std::unique_ptr<PlantedFault> make_slow_fault(const Fault& fault, const FaultSite& site);

}  // namespace megalith
