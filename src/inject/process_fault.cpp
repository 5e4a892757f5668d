// Faults of the process as a whole: when its step begins, in its first exchange of the step, or in a save.
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdlib>

#include "base/check.h"
#include "graph/relayout_op.h"
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
  ProcessFault(const Fault& fault, const FaultSite& site) : fault_(fault), plan_(site.plan), in_(fault.value("in")) {
    const bool has_code =
        fault.kind == "exit" && !fault.arguments.empty() && fault.arguments[0].find('=') == std::string::npos;
    constexpr std::string_view kKeys[] = {"in"};
    fault.check_arguments(has_code ? 1 : 0, kKeys);
    if (has_code) code_ = number(fault.arguments[0]);
    check(in_.empty() || in_ == "exchange" || in_ == "save", "--inject {}: in={}: want in=exchange or in=save",
          fault.text, in_);
  }
  void step_begins(i64 iteration) override {
    is_now_ = iteration == fault_.iteration, has_begun_ = iteration >= fault_.iteration;
    if (is_now_ && in_.empty()) strike();
  }
  void before(int program, int instruction) override {
    if (!is_now_ || in_ != "exchange") return;
    const AnyOp& op = plan_.programs[size_t(program)].instructions[size_t(instruction)].op;
    if (op.get_if<Relayout>()) strike();
  }
  // The first save behind the iteration.
  int save_step(std::string_view kind) override {
    if (in_ == "save" && kind == "write" && has_begun_ && !has_struck_.exchange(true)) strike();
    return 0;
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
  const Plan& plan_;
  const std::string in_;  // empty: at the step's begin
  int code_ = 1;
  std::atomic<bool> is_now_ = false, has_begun_ = false, has_struck_ = false;
};

}  // namespace

std::unique_ptr<PlantedFault> make_process_fault(const Fault& fault, const FaultSite& site) {
  return std::make_unique<ProcessFault>(fault, site);
}

}  // namespace megalith
