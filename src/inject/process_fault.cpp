// Faults of the process as a whole: in a phase of a start, when a step begins, in the step's first exchange, or in a
// save.
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdlib>

#include "base/check.h"
#include "graph/relayout_op.h"
#include "inject/faults.h"
#include "inject/planted.h"

namespace megalith {

namespace {

struct SignalKind {
  std::string_view kind;
  int signal;
};
constexpr SignalKind kSignals[] = {
    {"kill", SIGKILL}, {"term", SIGTERM}, {"stop", SIGSTOP}, {"abort", SIGABRT}, {"segv", SIGSEGV}};

int exit_code(const Fault& fault) {
  const bool has_code =
      fault.kind == "exit" && !fault.arguments.empty() && fault.arguments[0].find('=') == std::string::npos;
  constexpr std::string_view kKeys[] = {"in"};
  fault.check_arguments(has_code ? 1 : 0, kKeys);
  const i64 n = has_code ? fault.number_of(fault.arguments[0]) : 1;
  check(n <= 255, "--inject {}: exit code {} is out of range: want 0 to 255", fault.text, n);
  return int(n);
}

void strike(const Fault& fault) {
  for (const SignalKind& s : kSignals)
    if (s.kind == fault.kind) {
      std::raise(s.signal);
      return;
    }
  if (fault.kind == "throw")
    fail("{} {}: the planted fault {}", fault.is_of_start() ? "start" : "iteration", fault.iteration, fault.text);
  if (fault.kind == "exit") std::_Exit(exit_code(fault));
  for (;;) pause();  // hang
}

class ProcessFault final : public PlantedFault {
 public:
  ProcessFault(const Fault& fault, const FaultSite& site) : fault_(fault), plan_(site.plan), in_(fault.value("in")) {
    exit_code(fault);
    check(in_.empty() || in_ == "exchange" || in_ == "save" || fault.is_of_start(),
          "--inject {}: in={}: want in=exchange, in=save, in=init or in=load", fault.text, in_);
  }
  void step_begins(i64 iteration) override {
    is_now_ = iteration == fault_.iteration, has_begun_ = iteration >= fault_.iteration;
    if (is_now_ && in_.empty()) strike(fault_);
  }
  void before(int program, int instruction) override {
    if (!is_now_ || in_ != "exchange") return;
    const AnyOp& op = plan_.programs[size_t(program)].instructions[size_t(instruction)].op;
    if (op.get_if<Relayout>()) strike(fault_);
  }
  // The first save behind the iteration.
  int save_step(std::string_view kind) override {
    if (in_ == "save" && kind == "write" && has_begun_ && !has_struck_.exchange(true)) strike(fault_);
    return 0;
  }

 private:
  Fault fault_;
  const Plan& plan_;
  const std::string in_;  // empty: when the step begins
  std::atomic<bool> is_now_ = false, has_begun_ = false, has_struck_ = false;
};

}  // namespace

void strike_in_phase(const std::vector<std::string>& texts, int rank, std::string_view phase) {
  for (const Fault& f : parse_faults(texts))
    if (f.rank == rank && f.value("in") == phase) strike(f);
}

std::unique_ptr<PlantedFault> make_process_fault(const Fault& fault, const FaultSite& site) {
  return std::make_unique<ProcessFault>(fault, site);
}

}  // namespace megalith
