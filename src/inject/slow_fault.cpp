// A rank whose own work takes several times longer: it sleeps after its instructions, but not in transfers.
#include <chrono>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "graph/relayout_op.h"
#include "inject/planted.h"

namespace megalith {

namespace {

class SlowFault final : public PlantedFault {
 public:
  SlowFault(const Fault& fault, const FaultSite& site) : fault_(fault), plan_(site.plan) {
    check(!fault.arguments.empty(), "--inject {}: say how many times, as in slow@0:3:5", fault.text);
    constexpr std::string_view kKeys[] = {"steps"};
    fault.check_arguments(1, kKeys);
    times_ = fault.number_of(fault.arguments[0]), steps_ = fault.number("steps", 1);
    check(times_ >= 1, "--inject {}: {} times is no slower: want 1 or more", fault.text, times_);
  }
  void step_begins(i64 iteration) override {
    is_now_ = iteration >= fault_.iteration && iteration < fault_.iteration + steps_;
  }
  void before(int, int) override { began_ = is_now_ ? steady_seconds() : 0; }
  void after(int program, int instruction, const InstructionMemory&) override {
    if (!is_now_) return;
    const AnyOp& op = plan_.programs[size_t(program)].instructions[size_t(instruction)].op;
    if (op.get_if<Relayout>() || op.get_if<Wait>()) return;
    owed_ += double(times_ - 1) * (steady_seconds() - began_);
    if (owed_ > kLeast) sleep();
  }
  void run_ends(int) override {
    if (is_now_) sleep();
  }

 private:
  static constexpr double kLeast = 1e-3;  // seconds: shorter sleeps take longer than they say
  void sleep() {
    std::this_thread::sleep_for(std::chrono::duration<double>(owed_));
    owed_ = 0;
  }
  Fault fault_;
  const Plan& plan_;
  i64 times_ = 1, steps_ = 1;
  bool is_now_ = false;
  double began_ = 0, owed_ = 0;
};

}  // namespace

std::unique_ptr<PlantedFault> make_slow_fault(const Fault& fault, const FaultSite& site) {
  return std::make_unique<SlowFault>(fault, site);
}

}  // namespace megalith
