// Faults of the process as a whole, when its step begins.
#include <unistd.h>
#include <csignal>
#include <cstdlib>

#include "base/check.h"
#include "inject/planted.h"

namespace megalith {

namespace {

struct SignalKind {
  std::string_view kind;
  int signal;
};
constexpr SignalKind kSignals[] = {
    {"kill", SIGKILL}, {"term", SIGTERM}, {"stop", SIGSTOP}, {"abort", SIGABRT}, {"segv", SIGSEGV}};

class ProcessFault final : public PlantedFault {
 public:
  explicit ProcessFault(const Fault& fault) : fault_(fault) {
    fault.check_arguments(fault.kind == "exit" ? 1 : 0, {});
    if (!fault.arguments.empty()) code_ = number(fault.arguments[0]);
  }
  void step_begins(i64 iteration) override {
    if (iteration == fault_.iteration) strike();
  }

 private:
  int number(const std::string& text) const {
    const i64 n = fault_.number_of(text);
    check(n <= 255, "--inject {}: exit code {} is out of range: want 0 to 255", fault_.text, n);
    return int(n);
  }
  void strike() const {
    for (const SignalKind& s : kSignals)
      if (s.kind == fault_.kind) {
        std::raise(s.signal);
        return;
      }
    if (fault_.kind == "throw") fail("iteration {}: the planted fault {}", fault_.iteration, fault_.text);
    if (fault_.kind == "exit") std::_Exit(code_);
    for (;;) pause();  // hang
  }
  Fault fault_;
  int code_ = 1;
};

}  // namespace

std::unique_ptr<PlantedFault> make_process_fault(const Fault& fault, const FaultSite&) {
  return std::make_unique<ProcessFault>(fault);
}

}  // namespace megalith
