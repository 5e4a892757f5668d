// A rank that takes memory until the system kills it.
#include <fstream>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/control_group.h"
#include "inject/planted.h"

namespace megalith {

namespace {

class OomFault final : public PlantedFault {
 public:
  explicit OomFault(const Fault& fault) : fault_(fault) {
    fault.check_arguments(0, {});
    check(memory_limit().has_value(),
          "--inject {}: it takes all memory that it can get, and this control group has no limit: start the run in a "
          "control group with one",
          fault.text);
  }
  void step_begins(i64 iteration) override {
    if (iteration == fault_.iteration) take_all();
  }

 private:
  [[noreturn]] void take_all() const {
    std::ofstream("/proc/self/oom_score_adj") << 1000 << std::flush;  // the system kills this rank before others
    constexpr size_t kBytes = size_t{8} << 20;
    for (std::vector<std::unique_ptr<char[]>> all;;) {
      all.push_back(std::make_unique<char[]>(kBytes));  // zeroed, so the system must provide it
      if (all.back()[kBytes - 1] != 0) break;           // never: keeps the compiler from leaving the memory out
    }
    fail("iteration {}: the planted fault {}", fault_.iteration, fault_.text);
  }
  Fault fault_;
};

}  // namespace

std::unique_ptr<PlantedFault> make_oom_fault(const Fault& fault, const FaultSite&) {
  return std::make_unique<OomFault>(fault);
}

}  // namespace megalith
